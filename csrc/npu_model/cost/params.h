// SPDX-License-Identifier: Apache-2.0
// The normative cost parameters. Two sets; bars are judged on the pessimistic one.
#pragma once

#include <cstdint>

namespace npu_model {

struct CostParams {
  double vector_startup;
  double vector_visible;    // result visible to a dependent access, after the last repeat
  double rw_bank_conflict;  // added to the factor when a repeat reads and writes the same bank
  double l0c_ub_bytes_per_cycle;
  double mmad_startup;
  double l0a_cycles_per_fractal;
  double l0b_cycles_per_fractal;
  double mte1_startup;
  double l1_ub_bytes_per_cycle;
  double ub_l1_bytes_per_cycle;
  double ub_l1_startup;
  double gm_bytes_per_cycle;
  double l2_bytes_per_cycle;
  uint32_t gm_burst_bytes;
  double gm_latency;
  double issue;
  double flag;
  double spr_write;
  double scalar_ub;
  double scalar_gm_miss;
  double scalar_gm_hit;
};

constexpr CostParams kPessimistic = {
    /*vector_startup=*/4,
    /*vector_visible=*/30,
    /*rw_bank_conflict=*/1,
    /*l0c_ub_bytes_per_cycle=*/256,
    /*mmad_startup=*/15,
    /*l0a_cycles_per_fractal=*/2,
    /*l0b_cycles_per_fractal=*/4,
    /*mte1_startup=*/10,
    /*l1_ub_bytes_per_cycle=*/128,
    /*ub_l1_bytes_per_cycle=*/256,
    /*ub_l1_startup=*/30,
    /*gm_bytes_per_cycle=*/17,
    /*l2_bytes_per_cycle=*/114,
    /*gm_burst_bytes=*/128,
    /*gm_latency=*/700,
    /*issue=*/3,
    /*flag=*/1,
    /*spr_write=*/1,
    /*scalar_ub=*/15,
    /*scalar_gm_miss=*/100,
    /*scalar_gm_hit=*/2};

constexpr CostParams kOptimistic = {
    /*vector_startup=*/1,
    /*vector_visible=*/20,
    /*rw_bank_conflict=*/0,
    /*l0c_ub_bytes_per_cycle=*/512,
    /*mmad_startup=*/7,
    /*l0a_cycles_per_fractal=*/1,
    /*l0b_cycles_per_fractal=*/2,
    /*mte1_startup=*/5,
    /*l1_ub_bytes_per_cycle=*/128,
    /*ub_l1_bytes_per_cycle=*/256,
    /*ub_l1_startup=*/15,
    /*gm_bytes_per_cycle=*/17,
    /*l2_bytes_per_cycle=*/114,
    /*gm_burst_bytes=*/32,
    /*gm_latency=*/500,
    /*issue=*/1,
    /*flag=*/1,
    /*spr_write=*/1,
    /*scalar_ub=*/10,
    /*scalar_gm_miss=*/50,
    /*scalar_gm_hit=*/2};

constexpr uint32_t kL2Bytes = 16u * 1024 * 1024;
constexpr uint32_t kL2LineBytes = 128;
constexpr uint32_t kScalarLineBytes = 64;
constexpr double kClockMhz = 1060;

}  // namespace npu_model

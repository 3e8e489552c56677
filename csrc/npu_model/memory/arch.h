// SPDX-License-Identifier: Apache-2.0
// Storage of one AI core of dav_m200 and the alignment each memory asks of a start address.
#pragma once

#include <cstdint>

namespace npu_model {

enum class Mem : uint8_t { kGm, kUb, kL1, kL0a, kL0b, kL0c };
constexpr int kMemCount = 6;

constexpr uint32_t kBlockBytes = 32;  // unit of addresses, strides and of the shadow state
constexpr uint32_t kUbBytes = 256 * 1024;
constexpr uint32_t kUbScratchOffset = 248 * 1024;  // library routines use the top 8 KiB without asking
constexpr uint32_t kL1Bytes = 1024 * 1024;
constexpr uint32_t kL0aBytes = 64 * 1024;
constexpr uint32_t kL0bBytes = 64 * 1024;
constexpr uint32_t kL0cBytes = 256 * 1024;
constexpr uint32_t kSystemWorkspaceBytes = 2 * 1024 * 1024;
constexpr int kEventIds = 8;
constexpr int kFirstReservedEventId = 6;  // 6 and 7 belong to the library and to auto-sync
constexpr int kMaxTpipeBuffers = 64;

constexpr uint32_t CapacityBytes(Mem mem) {
  switch (mem) {
    case Mem::kUb: return kUbBytes;
    case Mem::kL1: return kL1Bytes;
    case Mem::kL0a: return kL0aBytes;
    case Mem::kL0b: return kL0bBytes;
    case Mem::kL0c: return kL0cBytes;
    case Mem::kGm: break;
  }
  return 0;
}

constexpr const char* Name(Mem mem) {
  switch (mem) {
    case Mem::kGm: return "GM";
    case Mem::kUb: return "UB";
    case Mem::kL1: return "L1";
    case Mem::kL0a: return "L0A";
    case Mem::kL0b: return "L0B";
    case Mem::kL0c: return "L0C";
  }
  return "?";
}

}  // namespace npu_model

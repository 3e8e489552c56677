// SPDX-License-Identifier: Apache-2.0
// Trace and tables in the layout of the vendor's simulator profile, so that viewers and scripts written for it work
// here.
#pragma once

#include <string>

#include "trace/report.h"

namespace npu_model {

// Chrome trace of a launch that recorded events (LaunchOptions::trace): one process per core, one lane per queue;
// microseconds at the chip's clock.
std::string TraceJson(const Report& report);

// One row per instruction and source line, and one per source line, of the blocks that ran on `core`; most cycles
// first.
std::string InstrCsv(const Report& report, int core);
std::string CodeCsv(const Report& report, int core);

// trace.json and core<i>/core<i>_{instr,code}_exe.csv under `directory`, which is created.
void WriteProfile(const Report& report, const std::string& directory);

}  // namespace npu_model

// SPDX-License-Identifier: Apache-2.0
// Flags and barriers in the report's JSON.
#pragma once

#include <vector>

#include "trace/json.h"
#include "trace/report.h"

namespace npu_model {

void WriteCallers(JsonWriter& json, const std::vector<CallFrame>& callers);
void WriteSync(JsonWriter& json, const SyncReport& sync, const Symbolizer& symbolizer);
void WriteRedundancy(JsonWriter& json, const RedundancyReport& report);

}  // namespace npu_model

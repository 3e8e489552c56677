// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace npu_model {

class Core;

// Makes `core` the one Core::Current() returns on this thread.
void SetCurrentCore(Core* core);

}  // namespace npu_model

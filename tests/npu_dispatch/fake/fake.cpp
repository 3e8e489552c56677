// SPDX-License-Identifier: Apache-2.0
// In place of torch_npu and of CANN. One translation unit: torch's headers are most of its compile time.
#include "device.h"
#include "runtime.h"
#include "torch_npu.h"

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace chunk_gdr::npu {

// Where the device binary of an operator is: device/<op>.o beside this library, or in the folder that the environment
// variable CHUNK_GDR_DEVICE_DIR names.
std::string DeviceBinary(const std::string& op);

}  // namespace chunk_gdr::npu

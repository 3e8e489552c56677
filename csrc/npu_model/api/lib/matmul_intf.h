// SPDX-License-Identifier: Apache-2.0
// The path under which kernels include the high-level Matmul.
#pragma once

#include "kernel_matmul.h"

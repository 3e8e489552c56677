// SPDX-License-Identifier: Apache-2.0
// Kernels include this for the tiling structs of high-level calls (Matmul, SoftMax, ...), which the model does not
// have.
#pragma once

#include "kernel_macros.h"

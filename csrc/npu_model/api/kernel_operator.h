// SPDX-License-Identifier: Apache-2.0
// AscendC for Ascend 310P (dav_m200) on the host model: the header kernels include.
#pragma once

#include "kernel_not_modelled.h"
#include "kernel_operator_activation_intf.h"
#include "kernel_operator_block_sync_intf.h"
#include "kernel_operator_data_copy_intf.h"
#include "kernel_operator_mm_intf.h"
#include "kernel_operator_pad_intf.h"
#include "kernel_operator_sys_var_intf.h"
#include "kernel_operator_vec_binary_intf.h"
#include "kernel_operator_vec_cmpsel_intf.h"
#include "kernel_operator_vec_library_intf.h"
#include "kernel_operator_vec_reduce_intf.h"
#include "kernel_operator_vec_transpose_intf.h"
#include "kernel_operator_vec_unary_intf.h"
#include "kernel_operator_vec_vconv_intf.h"
#include "kernel_std.h"
#include "kernel_tbuf.h"
#include "kernel_tbufpool.h"
#include "kernel_tque.h"

// SPDX-License-Identifier: Apache-2.0
// Declarations of tiling keys by template arguments. The toolchain makes an entry per key of them; on the host model an
// entry instantiates the template itself.
#pragma once

#define ASCENDC_TPL_ARGS_DECL(...) static_assert(true, "")
#define ASCENDC_TPL_SEL(...) static_assert(true, "")

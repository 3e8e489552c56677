// SPDX-License-Identifier: Apache-2.0
// The classes of faults the model reports. The first block carries the names of the vendor's CPU-debug checker.
#pragma once

#include <cstdint>

namespace npu_model {

enum class Rule : uint8_t {
  kRead1,       // read of memory that is not allocated, was freed, or belongs to a buffer that is dead in this stage
  kRead2,       // read of bytes nobody wrote
  kRead3,       // read outside the view's range, the memory, or the GM argument
  kRead4,       // misaligned read
  kWrite1,      // write to memory that is not allocated, was freed, or is dead in this stage
  kWrite2,      // write out of bounds
  kWrite3,      // data overwritten before anybody read it (suspicious)
  kWrite4,      // misaligned write
  kSync1,       // a write that is not ordered after an earlier access
  kSync2,       // a read that is not ordered after an earlier write
  kSync3,       // unpaired flag: left set at the end, or waited for and never set
  kSync4,       // a flag that may be set while it is still set
  kLeak,        // tensor not freed at the end
  kFree,        // tensor freed twice
  kBuffer0,     // buffer used before InitBuffer
  kBuffer1,     // wrong queue type for this tensor or call
  kBuffer2,     // wrong TPosition for this call
  kBuffer3,     // illegal memory: capacity overflow, zero length, address of another memory
  kBuffer4,     // pool used before it exists, or two pools alive together
  kOverlap,     // source and destination of one instruction overlap illegally (in-place widening, shifted overlap, ...)
  kGmOverlap,   // two cores touch the same GM bytes without an edge between them
  kStaleCache,  // scalar read of GM served from a data-cache line older than the data
  kReservedEvent,  // event id 6 or 7 used by hand
  kDeadlock,       // a wait nobody will satisfy
  kParam,          // a parameter the instruction does not accept on this chip
  kUnsupported,    // a call that does not exist on this chip
};

const char* Name(Rule rule);

// kAutoSync: only the compiler's --cce-auto-sync would make it right. kSuspicious: legal, but hardly meant.
enum class Grade : uint8_t { kError, kAutoSync, kSuspicious };

const char* Name(Grade grade);

}  // namespace npu_model

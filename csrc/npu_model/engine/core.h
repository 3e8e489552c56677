// SPDX-License-Identifier: Apache-2.0
// One AI core, as the API layer sees it. Kernel code runs as the S queue on the core's own thread; every API call turns
// into calls of this class. Nothing here knows what an instruction computes: the API hands over a closure that does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "cost/cost.h"
#include "engine/spr.h"
#include "engine/types.h"
#include "memory/arch.h"
#include "memory/operand.h"
#include "sched/rule.h"

namespace npu_model {

// Overlap rule for the operands of one instruction. kVector demands the region convention of memory/operand.h: per
// repeat, a source coincides with the destination or is disjoint from it; no destination of an earlier repeat is the
// source of a later one. kVectorAccumulate (Add, Sub, Mul, Max, Min of half, float, int32): the same, except dst ==
// src1 with a zero repeat stride. kDisjoint: source and destination ranges in the same memory must not touch (UB -> UB
// copies, Transpose, Gather, ...).
enum class OverlapRule : uint8_t { kNone, kVector, kVectorAccumulate, kDisjoint };

// One instruction at issue. Lives on the caller's stack; Core copies it if the instruction has to wait.
struct Instr {
  static constexpr int kMaxOperands = 4;

  Queue queue = Queue::kV;
  OverlapRule overlap = OverlapRule::kNone;
  // Mmad with C += A B: may follow an Mmad on the same C without a barrier if c_fractals >= 10.
  bool accumulate = false;
  uint16_t c_fractals = 0;  // Mmad: ceil(m/16) * ceil(n/16)
  // Copies GM flags that other cores poll meanwhile: such copies need no order among themselves.
  bool polled = false;
  const char* name = "";    // literal; the API's name ("Add", "DataCopy", "Mmad")
  Site site;
  Cost cost;
  int count = 0;
  Operand operands[kMaxOperands];  // destination first, then src0, src1, ...

  Instr(Queue q, const char* n, Site s, const Cost& c) : queue(q), name(n), site(s), cost(c) {}
  Operand& Add(const Operand& operand) { return operands[count++] = operand; }
};

// What an instruction computes, kept while the instruction waits in its queue.
struct DeferredSemantics {
  virtual ~DeferredSemantics() = default;
  virtual void Run() = 0;
};

struct CoreState;  // queues, clocks, shadows, timelines: engine/core_state.h, not for the API layer

class Core {
 public:
  // The core whose kernel runs on this thread.
  static Core& Current();

  explicit Core(std::unique_ptr<CoreState> state);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Instructions.

  // Checks the operands (bounds, alignment, life, overlap: now; hazards and never-written reads: when the instruction
  // executes), charges S for the issue, and runs `semantics` at once or later, whenever the queue gets there.
  // `semantics` must therefore capture by value (raw pointers from Bytes(), copies of parameters and register values;
  // no LocalTensor or Instr references) and must touch no bytes outside the operands. It is not called when an operand
  // leaves its memory or GM argument: the destination is poisoned.
  template <class F>
  void Issue(const Instr& instr, F&& semantics) {
    const Admission admission = Admit(instr);
    if (admission == Admission::kRun) {
      semantics();
    } else if (admission == Admission::kRunAtomic) {
      const AtomicGuard guard(*this);
      semantics();
    } else if (admission == Admission::kDefer) {
      Defer(instr, std::make_unique<Closure<std::decay_t<F>>>(std::forward<F>(semantics)));
    }
  }

  // Start of a core memory. GM operands are host addresses: use them directly.
  uint8_t* Bytes(Mem mem, uint64_t offset = 0) { return bytes_[static_cast<int>(mem)] + offset; }

  // Scalar unit.

  // GetValue / SetValue on UB or GM (the only memories S reaches). Performs the checks, charges the time; the caller
  // then moves the bytes itself through the returned pointer. nullptr: illegal access, already reported (return poison,
  // drop the store).
  const uint8_t* ScalarLoad(const Operand& operand, const char* name, Site site);
  uint8_t* ScalarStore(const Operand& operand, const char* name, Site site);
  // DataCacheCleanAndInvalid: the lines of [address, address + bytes), or the whole data cache when bytes == 0.
  void ScalarCacheCleanInvalidate(uint64_t address, uint64_t bytes, Site site);

  // Special registers in program order. `SprWrite` counts and charges one register write (SetVectorMask, SetMaskCount,
  // SetAtomicAdd, SetDeqScale, SetFMatrix, TransDataTo5HD address lists, ...); the field itself is assigned by the
  // caller.
  SpecialRegisters& spr() { return spr_; }
  void SprWrite(Site site, int writes = 1);

  // Synchronisation.

  // `src` and `dst` as in HardEvent::SRC_DST. Waits with dst == S block the kernel thread (never spin). The caller has
  // checked that the event exists on this chip; ids outside 0..7 are reported here.
  void SetFlag(Queue src, Queue dst, int id, Site site);
  void WaitFlag(Queue src, Queue dst, int id, Site site);
  void PipeBarrier(Queue queue, Site site);
  void PipeBarrierAll(Site site);  // drains every queue; S blocks
  // Event ids as TPipe hands them out. AllocEventId returns -1 (and reports) when all eight are taken; ids 6 and 7 are
  // legal only when they come from here or inside a LibraryScope.
  int AllocEventId(Queue src, Queue dst, Site site);
  int FetchEventId(Queue src, Queue dst, Site site);  // lowest free id, not reserved
  void ReleaseEventId(Queue src, Queue dst, int id, Site site);
  // The software synchronisation between cores is made of instructions that the API issues; these say what its polls
  // wait for, and when. All block the kernel thread.
  // SyncAll over all blocks: every block has stored its flag. Called when the own store is issued; orders everything
  // before it, on every core, before everything after it.
  void SyncAll(Site site);
  // How often this block went through SyncAll with the flags at a GM address.
  uint32_t& SyncAlls(uint64_t flags);
  // IBSet and IBWait: AwaitFlag returns when the flag is down (IBSet) or up (IBWait), and what the block that turned it
  // had finished by then is ordered before what follows. TurnFlag says that the flag is stored: it publishes all work
  // of this block. A full barrier stands before both.
  void AwaitFlag(const GmFlag& flag, Site site);
  void TurnFlag(const GmFlag& flag, Site site);

  // Component instructions of library routines (emulated Nd2Nz, Brcb, ReduceSum, TQue, ...) are issued inside a scope:
  // event ids 6 and 7 and the UB scratch are theirs to use, and flags on ids from AllocEventId are not judged for
  // set-on-set (a TQue releases its id when the wait is issued, which cannot be proved safe). Pass the kernel's own
  // Site to the components.
  class LibraryScope {
   public:
    explicit LibraryScope(Core& core) : core_(core) { ++core_.library_depth_; }
    ~LibraryScope() { --core_.library_depth_; }
    LibraryScope(const LibraryScope&) = delete;
    LibraryScope& operator=(const LibraryScope&) = delete;

   private:
    Core& core_;
  };

  // Memory management.

  // A buffer reserved by InitBuffer (one call per buffer of a queue) or LocalMemAllocator. Returns its id for
  // Origin::buffer. Reports capacity overflow (Buffer3) and zero length. `name` is a literal such as "VECIN"; reports
  // say "VECIN#2[0]".
  uint32_t RegisterBuffer(Mem mem, uint64_t offset, uint64_t bytes, const char* name, int index, Site site);
  // TBuf buffers are always usable. Queue buffers start free: AllocTensor occupies them, FreeTensor frees them (freeing
  // a free one is Free; access through a freed tensor is Read1/Write1; occupied at the end of the kernel is Leak).
  void BufferIsQueue(uint32_t buffer);
  void OccupyBuffer(uint32_t buffer, Site site);
  void FreeBuffer(uint32_t buffer, Site site);
  // One TPipe at a time; Reset and Destroy forget its buffers. Opening a second one, or a LocalMemAllocator beside it,
  // is Buffer4.
  void OpenPool(const char* kind, Site site);
  void ResetPool(Site site);
  void ClosePool(const char* kind, Site site);

  // Launch context.

  int block_idx() const { return block_idx_; }
  int block_num() const { return block_num_; }
  uint64_t tiling_key() const { return tiling_key_; }
  bool permute_cube() const { return permute_cube_; }  // Mmad: accumulate k in another order
  uint32_t permute_seed() const { return permute_seed_; }
  void StageStart(int stage);  // TRACE_START / TRACE_STOP
  void StageStop(int stage);
  // GET_TILING_DATA: a struct from GM. Aborts if the launch gave less, but for padding at its end.
  void ReadTiling(void* to, const void* from, size_t bytes, size_t alignment, Site site);
  // Text of printf / DumpTensor goes to the report, tagged with the block.
  void Print(const std::string& text);

  // Faults the API finds itself.

  // kParam,
  // kUnsupported, kBuffer*. The caller then skips the instruction. Reports with equal rule, name, site and text are
  // merged.
  void Fault(Rule rule, const char* name, Site site, const std::string& text);
  // Same, but the kernel cannot go on: unwinds to the launch (throws; a no-op while another unwinding is in progress).
  void Abort(Rule rule, const char* name, Site site, const std::string& text);

  CoreState& state() { return *state_; }
  std::unique_ptr<CoreState> TakeState();  // after the kernel ended

 private:
  enum class Admission : uint8_t { kRun, kRunAtomic, kDefer, kSkip };

  template <class F>
  struct Closure final : DeferredSemantics {
    explicit Closure(F f) : function(std::move(f)) {}
    void Run() override { function(); }
    F function;
  };

  // Stores under SetAtomicAdd read, add and write GM that other cores add to at the same time.
  class AtomicGuard {
   public:
    explicit AtomicGuard(Core& core);
    ~AtomicGuard();
    AtomicGuard(const AtomicGuard&) = delete;
    AtomicGuard& operator=(const AtomicGuard&) = delete;

   private:
    Core& core_;
  };

  Admission Admit(const Instr& instr);
  void Defer(const Instr& instr, std::unique_ptr<DeferredSemantics> closure);

  uint8_t* bytes_[kMemCount] = {};
  SpecialRegisters spr_;
  int block_idx_ = 0;
  int block_num_ = 1;
  uint64_t tiling_key_ = 0;
  bool permute_cube_ = false;
  uint32_t permute_seed_ = 0;
  int library_depth_ = 0;
  std::unique_ptr<CoreState> state_;
};

// Thrown by Abort and by blocking waits nobody will satisfy; caught by the launch. Destructors that synchronise (TPipe)
// must be noexcept(false); while an unwinding is in progress the core ignores every call.
struct KernelAbort {};

}  // namespace npu_model

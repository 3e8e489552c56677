// SPDX-License-Identifier: Apache-2.0
// Judges every access of one core: where it may go (at issue) and what it must be ordered after (at execution).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cost/critical_path.h"
#include "engine/chip_state.h"
#include "engine/core.h"
#include "memory/shadow.h"
#include "sched/clock.h"
#include "sched/hazard.h"
#include "sched/instr_log.h"
#include "sched/sync_log.h"

namespace npu_model {

struct OperandPlace {
  uint64_t lo = 0;  // bounding range of the access; GM: host addresses
  uint64_t hi = 0;
  int argument = -1;  // GM
  int row = -1;       // buffer row it starts in
  uint32_t life_start = 0;
};

// What an instruction carries from its issue to its execution.
struct IssueContext {
  Tag tag = 0;
  uint32_t site = 0;
  Moment issued;  // cycles
  int16_t stage = -1;
  bool performed = true;  // false: rejected at issue
  uint32_t issue = 0;     // its number in the SyncLog
  Clock scalar;           // what S knew
  OperandPlace places[Instr::kMaxOperands];
};

// A buffer of InitBuffer.
struct BufferRecord {
  Mem mem = Mem::kUb;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string name;
  bool is_queue = false;
  bool occupied = false;
  bool forgotten = false;  // its pool was reset or closed
  Site site;
  Site freed_at;
};

class Checker final : public ShadowSink {
 public:
  Checker(ChipState& chip, int block, InstrLog& log, SiteTable& sites, HazardList& hazards);

  // Bounds, alignment, life, overlap. False: the instruction leaves its memory and must not be performed.
  bool Admit(const Instr& instr, IssueContext& context, bool library);
  // Hazards and never-written reads; updates the shadow state. `clock` is the executing queue's. Returns the queues
  // whose missing edge auto-sync would have inserted (bit mask). `needs`, if wanted: see ShadowAccess.
  uint32_t Execute(const Instr& instr, const IssueContext& context, const Clock& clock, Needs* needs);
  void Poisoned(const Instr& instr, const IssueContext& context);

  // Scalar access to GM through the data cache; true if it hits. `operand` was admitted.
  bool ScalarCache(const Operand& operand, const IssueContext& context, bool store);
  void CleanInvalidate(uint64_t address, uint64_t bytes);
  // The block has ended; only what cross-core analysis and descriptions need is kept.
  void ReleaseShadows();

  // Rows whose life begins now: what they hold no longer counts as initialised. Returns their indices.
  std::vector<int> StageStarts(int stage, int previous, uint32_t issue);

  std::vector<BufferRecord>& buffers() { return buffers_; }
  std::vector<GmCoreArgument>& gm() { return gm_; }
  const std::vector<GmAccess>& accesses(int argument) const { return gm_[argument].accesses; }
  void SetBlockClock(uint32_t tick, uint32_t version) {
    tick_ = tick;
    version_ = version;
  }

  AccessReport Describe(Tag tag) const;
  AccessReport DescribeSite(const char* name, Site site, Queue queue, int stage) const;
  std::string NameOf(Mem mem, uint64_t address, uint32_t buffer, int stage) const;
  const Closure& closure() const { return closure_; }
  HazardList& hazards() { return hazards_; }
  void Report(Rule rule, Grade grade, const AccessReport& access, const std::string& text, const std::string& fix = "");

  void OnConflict(Tag earlier, bool earlier_wrote, uint64_t lo, uint64_t hi) override;
  void OnUninitialised(uint64_t lo, uint64_t hi) override;
  void OnOverwrittenUnread(Tag earlier, uint64_t lo, uint64_t hi) override;

 private:
  struct Finding {
    enum class Kind { kConflict, kUninitialised, kUnread } kind = Kind::kConflict;
    Tag earlier = 0;
    bool earlier_wrote = false;
    uint64_t lo = 0;
    uint64_t hi = 0;
  };

  bool AdmitGm(const Instr& instr, int index, IssueContext& context);
  bool AdmitLocal(const Instr& instr, int index, IssueContext& context, bool library);
  void CheckRows(const Instr& instr, int index, IssueContext& context);
  void CheckBuffer(const Instr& instr, int index, const IssueContext& context, bool library);
  void CheckOverlap(const Instr& instr, const IssueContext& context);
  AccessReport DescribeOperand(const Instr& instr, int index, const IssueContext& context, uint64_t lo,
                               uint64_t hi) const;
  AccessReport DescribeEarlier(Tag tag, bool wrote, Mem mem, int argument, uint64_t lo, uint64_t hi) const;
  void Record(const Finding& finding);
  void Flush();
  void Judge(const Finding& finding);
  void RecordGm(const Operand& operand, const OperandPlace& place, const IssueContext& context);
  ShadowSpace* Shadow(const Operand& operand, const OperandPlace& place);

  ChipState& chip_;
  const int block_;
  InstrLog& log_;
  SiteTable& sites_;
  HazardList& hazards_;
  std::unique_ptr<ShadowSpace> shadows_[kMemCount];
  std::vector<GmCoreArgument> gm_;
  std::vector<BufferRecord> buffers_;  // index 0: none
  std::vector<uint32_t> row_life_start_;
  Closure closure_;
  uint32_t tick_ = 0;
  uint32_t version_ = 0;

  // The access under way, for the sink.
  const Instr* instr_ = nullptr;
  const IssueContext* context_ = nullptr;
  int operand_ = 0;
  bool writing_ = false;
  uint32_t auto_sync_queues_ = 0;
  std::vector<Finding> findings_;  // of one operand, a block or byte at a time, merged by what they say
};

}  // namespace npu_model

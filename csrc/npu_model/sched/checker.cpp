// SPDX-License-Identifier: Apache-2.0
#include "sched/checker.h"

#include <algorithm>

#include "sched/runs.h"

namespace npu_model {
namespace {

constexpr uint32_t kMinChainFractals = 10;

bool Reads(Access access) { return access == Access::kRead || access == Access::kReadWrite; }
bool Writes(Access access) { return access != Access::kRead; }

// Whether an operand is both source and destination, so that old readers must be judged before this instruction's own
// reads count.
bool TouchesItself(const Instr& instr, const IssueContext& context) {
  for (int w = 0; w < instr.count; ++w) {
    const Operand& written = instr.operands[w];
    if (!Writes(written.access)) continue;
    if (written.access == Access::kReadWrite) return true;
    for (int r = 0; r < instr.count; ++r) {
      const Operand& read = instr.operands[r];
      if (r != w && Reads(read.access) && read.mem == written.mem && context.places[r].lo < context.places[w].hi &&
          context.places[w].lo < context.places[r].hi) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

Checker::Checker(ChipState& chip, int block, InstrLog& log, SiteTable& sites, HazardList& hazards)
    : chip_(chip),
      block_(block),
      log_(log),
      sites_(sites),
      hazards_(hazards),
      buffers_(1),
      row_life_start_(chip.rows.rows().size(), 0) {
  const bool checked = chip.options.checked;
  for (int m = 1; checked && m < kMemCount; ++m) {
    const uint32_t bytes = CapacityBytes(static_cast<Mem>(m));
    shadows_[m] = std::make_unique<ShadowSpace>(bytes, bytes / kBlockBytes, false);
  }
  gm_.reserve(chip.arguments.size());
  for (const GmArgument& argument : chip.arguments) gm_.emplace_back(argument, checked);
}

ShadowSpace* Checker::Shadow(const Operand& operand, const OperandPlace& place) {
  return operand.mem == Mem::kGm ? gm_[place.argument].shadow.get() : shadows_[static_cast<int>(operand.mem)].get();
}

void Checker::ReleaseShadows() {
  for (auto& shadow : shadows_) shadow.reset();
  for (GmCoreArgument& argument : gm_) argument.shadow.reset();
}

uint32_t Checker::Execute(const Instr& instr, const IssueContext& context, const Clock& clock, Needs* needs) {
  instr_ = &instr;
  context_ = &context;
  auto_sync_queues_ = 0;
  LogEntry& entry = log_.At(context.tag);

  ShadowAccess access;
  access.tag = context.tag;
  access.log = &log_;
  access.sink = this;
  if (needs != nullptr) access.needs = needs->data();
  if (chip_.options.sync_sites) access.closure = &closure_;
  access.sites = &sites_;
  access.site = context.site;
  access.chain = instr.accumulate && instr.c_fractals >= kMinChainFractals;
  std::copy(std::begin(clock.t), std::end(clock.t), std::begin(access.limit));
  if (instr.queue == Queue::kS) access.limit[static_cast<int>(Queue::kS)] = kTagSeqMask;  // S is sequential

  const auto visit = [&](int index, auto&& body) {
    const Operand& operand = instr.operands[index];
    const OperandPlace& place = context.places[index];
    operand_ = index;
    access.atomic = operand.access == Access::kAtomicAdd;
    access.space = static_cast<uint32_t>(operand.mem) | static_cast<uint32_t>(place.argument + 1) << 8;
    access.track_unread = operand.mem != Mem::kGm;
    access.life_start = place.life_start;
    if (place.row >= 0) {
      access.life_lo = chip_.rows.rows()[place.row].offset_bytes;
      access.life_hi = chip_.rows.rows()[place.row].end();
    }
    ShadowSpace* shadow = Shadow(operand, place);
    if (shadow == nullptr) return;
    const uint64_t base = operand.mem == Mem::kGm ? chip_.arguments[place.argument].base : 0;
    ForEachRun(operand, [&](uint64_t lo, uint64_t hi) { body(*shadow, lo - base, hi - base); });
    Flush();
  };

  const bool touches_itself = TouchesItself(instr, context);
  if (touches_itself) {
    writing_ = true;
    for (int i = 0; i < instr.count; ++i) {
      if (!Writes(instr.operands[i].access)) continue;
      visit(i, [&](ShadowSpace& shadow, uint64_t lo, uint64_t hi) { shadow.CheckWrite(access, lo, hi); });
    }
  }
  writing_ = false;
  for (int i = 0; i < instr.count; ++i) {
    if (!Reads(instr.operands[i].access)) continue;
    visit(i, [&](ShadowSpace& shadow, uint64_t lo, uint64_t hi) { shadow.Read(access, lo, hi); });
  }
  writing_ = true;
  for (int i = 0; i < instr.count; ++i) {
    const Operand& operand = instr.operands[i];
    if (!Writes(operand.access)) continue;
    entry.chain = instr.c_fractals >= kMinChainFractals;
    entry.atomic = operand.access == Access::kAtomicAdd;
    uint64_t bytes = 0;
    visit(i, [&](ShadowSpace& shadow, uint64_t lo, uint64_t hi) {
      shadow.Write(access, lo, hi, !touches_itself);
      bytes += hi - lo;
    });
    entry.live_bytes = static_cast<uint32_t>(std::min<uint64_t>(bytes, ~0u));
    if (operand.mem == Mem::kGm) {
      GmArgument& argument = chip_.arguments[context.places[i].argument];
      if (argument.written) {
        ForEachRun(operand,
                   [&](uint64_t lo, uint64_t hi) { argument.MarkWritten(lo - argument.base, hi - argument.base); });
      }
    }
  }
  if (instr.queue != Queue::kS) {
    for (int i = 0; i < instr.count; ++i) {
      if (instr.operands[i].mem == Mem::kGm) RecordGm(instr.operands[i], context.places[i], context);
    }
  }
  if (needs != nullptr && instr.queue == Queue::kS) (*needs)[static_cast<int>(Queue::kS)] = 0;
  instr_ = nullptr;
  return auto_sync_queues_;
}

void Checker::Poisoned(const Instr& instr, const IssueContext& context) {
  for (int i = 0; i < instr.count; ++i) {
    const Operand& operand = instr.operands[i];
    if (!Writes(operand.access) || operand.mem == Mem::kGm || context.places[i].hi > CapacityBytes(operand.mem))
      continue;
    ForEachRun(operand,
               [&](uint64_t lo, uint64_t hi) { shadows_[static_cast<int>(operand.mem)]->MarkInitialised(lo, hi); });
  }
}

void Checker::RecordGm(const Operand& operand, const OperandPlace& place, const IssueContext& context) {
  GmCoreArgument& mine = gm_[place.argument];
  const GmArgument& argument = chip_.arguments[place.argument];
  const bool store = Writes(operand.access);
  if (argument.writable && chip_.options.block_num > 1) {
    for (uint32_t i = 0; i < operand.count; ++i) {
      GmAccess access{operand.Regions()[i], operand.access, context.tag, tick_, version_, instr_->polled};
      access.region.base -= argument.base;
      mine.accesses.push_back(access);
    }
  }
  if (mine.lines.empty()) return;
  ForEachRun(operand, [&](uint64_t lo, uint64_t hi) {
    const uint64_t last = (hi - 1 - argument.base) / kScalarLineBytes;
    for (auto it = mine.lines.lower_bound((lo - argument.base) / kScalarLineBytes);
         it != mine.lines.end() && it->first <= last; ++it) {
      ScalarLine& line = it->second;
      if (store) {
        line.overwritten_by = context.tag;
      } else if (line.dirty_by != 0) {
        Hazard hazard;
        hazard.rule = Rule::kStaleCache;
        hazard.access = DescribeOperand(*instr_, 0, context, lo, hi);
        hazard.access.mem = Mem::kGm;
        hazard.access.write = false;
        hazard.access.buffer = argument.name;
        hazard.access.lo = lo - argument.base;
        hazard.access.hi = hi - argument.base;
        hazard.has_earlier = true;
        hazard.earlier = DescribeEarlier(line.dirty_by, true, Mem::kGm, place.argument, it->first * kScalarLineBytes,
                                         (it->first + 1) * kScalarLineBytes);
        hazard.text = "DMA reads GM bytes that a scalar store left in the data cache";
        hazard.fix = "DataCacheCleanAndInvalid after " + hazard.earlier.Place(1);
        hazards_.Add(std::move(hazard));
      }
    }
  });
}

bool Checker::ScalarCache(const Operand& operand, const IssueContext& context, bool store) {
  const int index = context.places[0].argument;
  GmCoreArgument& mine = gm_[index];
  const GmArgument& argument = chip_.arguments[index];
  const uint64_t offset = operand.start - argument.base;
  const auto [it, miss] = mine.lines.try_emplace(offset / kScalarLineBytes);
  ScalarLine& line = it->second;
  if (miss) line.version = version_;
  if (!chip_.options.checked) return !miss;
  GmAccess access{operand.Regions()[0], operand.access, context.tag, tick_, line.version};
  access.region.base = offset;
  if (store) {
    line.dirty_by = context.tag;
    if (argument.writable) mine.dirty.push_back(access);
    return !miss;
  }
  if (line.overwritten_by != 0) {
    Hazard hazard;
    hazard.rule = Rule::kStaleCache;
    hazard.access = DescribeSite(sites_[context.site].name, {sites_[context.site].file, sites_[context.site].line},
                                 Queue::kS, context.stage);
    hazard.access.path = sites_[context.site].path;
    hazard.access.has_range = true;
    hazard.access.mem = Mem::kGm;
    hazard.access.buffer = argument.name;
    hazard.access.lo = offset;
    hazard.access.hi = offset + context.places[0].hi - context.places[0].lo;
    hazard.has_earlier = true;
    hazard.earlier = DescribeEarlier(line.overwritten_by, true, Mem::kGm, index, hazard.access.lo, hazard.access.hi);
    hazard.text = "scalar read is served from a data-cache line loaded before the store";
    hazard.fix = "DataCacheCleanAndInvalid between " + hazard.earlier.Place(1) + " and " + hazard.access.Place(1);
    hazards_.Add(std::move(hazard));
  }
  if (argument.writable && chip_.options.block_num > 1) mine.accesses.push_back(access);
  return !miss;
}

void Checker::CleanInvalidate(uint64_t address, uint64_t bytes) {
  for (size_t i = 0; i < gm_.size(); ++i) {
    GmCoreArgument& mine = gm_[i];
    const GmArgument& argument = chip_.arguments[i];
    const bool everything = bytes == 0;
    if (!everything && (address >= argument.end() || address + bytes <= argument.base)) continue;
    const uint64_t lo = everything ? 0 : (std::max(address, argument.base) - argument.base) / kScalarLineBytes;
    const uint64_t hi =
        everything ? ~uint64_t{0} : (std::min(address + bytes, argument.end()) - 1 - argument.base) / kScalarLineBytes;
    auto kept = mine.dirty.begin();
    for (GmAccess& access : mine.dirty) {
      const uint64_t line = access.region.base / kScalarLineBytes;
      if (lo <= line && line <= hi) {
        access.tick = tick_;
        mine.accesses.push_back(access);
      } else {
        *kept++ = access;
      }
    }
    mine.dirty.erase(kept, mine.dirty.end());
    mine.lines.erase(mine.lines.lower_bound(lo), mine.lines.upper_bound(hi));
  }
}

std::vector<int> Checker::StageStarts(int stage, int previous, uint32_t issue) {
  std::vector<int> born;
  for (const int row : chip_.rows.StartingAt(stage)) {
    if (chip_.rows.rows()[row].AliveIn(previous)) continue;
    row_life_start_[row] = issue;
    born.push_back(row);
  }
  return born;
}

void Checker::OnConflict(Tag earlier, bool earlier_wrote, uint64_t lo, uint64_t hi) {
  Record({Finding::Kind::kConflict, earlier, earlier_wrote, lo, hi});
}

void Checker::OnUninitialised(uint64_t lo, uint64_t hi) {
  const OperandPlace& place = context_->places[operand_];
  if (place.argument >= 0) {
    const GmArgument& argument = chip_.arguments[place.argument];
    if (!argument.written || argument.IsWritten(lo, hi)) return;
  }
  Record({Finding::Kind::kUninitialised, 0, false, lo, hi});
}

void Checker::OnOverwrittenUnread(Tag earlier, uint64_t lo, uint64_t hi) {
  Record({Finding::Kind::kUnread, earlier, true, lo, hi});
}

void Checker::Record(const Finding& finding) {
  for (Finding& known : findings_) {
    if (known.kind != finding.kind || known.earlier != finding.earlier || known.earlier_wrote != finding.earlier_wrote)
      continue;
    known.lo = std::min(known.lo, finding.lo);
    known.hi = std::max(known.hi, finding.hi);
    return;
  }
  findings_.push_back(finding);
}

void Checker::Flush() {
  for (const Finding& finding : findings_) Judge(finding);
  findings_.clear();
}

void Checker::Judge(const Finding& finding) {
  const Operand& operand = instr_->operands[operand_];
  const OperandPlace& place = context_->places[operand_];
  const uint64_t base = operand.mem == Mem::kGm ? chip_.arguments[place.argument].base : 0;
  Hazard hazard;
  hazard.access = DescribeOperand(*instr_, operand_, *context_, base + finding.lo, base + finding.hi);
  hazard.access.write = writing_;
  if (finding.kind == Finding::Kind::kUninitialised) {
    hazard.rule = Rule::kRead2;
    hazard.text = "reads bytes nobody wrote";
    if (place.life_start != 0) {
      const BufferRow& row = chip_.rows.rows()[place.row];
      hazard.text += " since row '" + row.name + "' came to life in stage " + std::to_string(row.first_stage);
    }
    hazards_.Add(std::move(hazard));
    return;
  }
  hazard.has_earlier = true;
  hazard.earlier =
      DescribeEarlier(finding.earlier, finding.earlier_wrote, operand.mem, place.argument, finding.lo, finding.hi);
  if (finding.kind == Finding::Kind::kUnread) {
    hazard.rule = Rule::kWrite3;
    hazard.grade = Grade::kSuspicious;
    hazard.text = "overwrites data that nobody read";
    hazards_.Add(std::move(hazard));
    return;
  }
  const Queue first = TagQueue(finding.earlier);
  const Queue second = instr_->queue;
  hazard.rule = writing_ ? Rule::kSync1 : Rule::kSync2;
  hazard.grade = AutoSyncRepairs(first, second) ? Grade::kAutoSync : Grade::kError;
  if (hazard.grade == Grade::kAutoSync) auto_sync_queues_ |= 1u << static_cast<int>(first);
  hazard.text = std::string(writing_ ? "write" : "read") + " is not ordered after an earlier " +
                (finding.earlier_wrote ? "write" : "read") + " of the same bytes";
  if (first == Queue::kM && second == Queue::kM && instr_->accumulate) {
    hazard.text += "; accumulating Mmads chain without a barrier only if (m/16)(n/16) >= 10, here " +
                   std::to_string(instr_->c_fractals);
  }
  hazard.missing = std::string(Name(first)) + " -> " + Name(second);
  hazard.fix = EdgeFix(hazard.earlier, hazard.access);
  hazards_.Add(std::move(hazard));
}

}  // namespace npu_model

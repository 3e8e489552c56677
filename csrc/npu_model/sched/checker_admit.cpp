// SPDX-License-Identifier: Apache-2.0
// What can be said of an instruction when it is issued: where its operands lie.
#include <algorithm>
#include <vector>

#include "sched/checker.h"
#include "sched/overlap.h"
#include "sched/runs.h"

namespace npu_model {
namespace {

bool IsWrite(Access access) { return access != Access::kRead; }

std::string Bytes(uint64_t n) { return std::to_string(n) + " bytes"; }

}  // namespace

bool Checker::Admit(const Instr& instr, IssueContext& context, bool library) {
  bool legal = true;
  for (int i = 0; i < instr.count; ++i) {
    BoundsOf(instr.operands[i], &context.places[i].lo, &context.places[i].hi);
    legal &= instr.operands[i].mem == Mem::kGm ? AdmitGm(instr, i, context) : AdmitLocal(instr, i, context, library);
  }
  if (legal && chip_.options.checked && instr.overlap != OverlapRule::kNone) CheckOverlap(instr, context);
  return legal;
}

bool Checker::AdmitGm(const Instr& instr, int index, IssueContext& context) {
  const Operand& operand = instr.operands[index];
  OperandPlace& place = context.places[index];
  const bool write = IsWrite(operand.access);
  const Rule rule = write ? Rule::kWrite2 : Rule::kRead3;
  // A stray address may hit another argument by chance; where the tensor came from decides.
  place.argument = operand.origin.begin != 0 ? FindArgument(chip_.arguments, operand.origin.begin) : -1;
  if (place.argument < 0) place.argument = FindArgument(chip_.arguments, place.lo);
  if (place.lo == place.hi) return place.argument >= 0;
  AccessReport access = DescribeSite(instr.name, instr.site, instr.queue, context.stage);
  access.path = sites_[context.site].path;
  access.write = write;
  access.mem = Mem::kGm;
  if (place.argument < 0) {
    Report(rule, Grade::kError, access,
           "address outside every GM argument: " + DescribeStray(chip_.arguments, place.lo));
    return false;
  }
  const GmArgument& argument = chip_.arguments[place.argument];
  access.has_range = true;
  access.buffer = argument.name;
  access.lo = place.lo - argument.base;
  access.hi = place.hi - argument.base;
  if (place.lo < argument.base) {
    access.has_range = false;
    Report(rule, Grade::kError, access,
           "starts " + Bytes(argument.base - place.lo) + " before GM argument '" + argument.name + "'");
    return false;
  }
  if (place.hi > argument.end()) {
    Report(rule, Grade::kError, access,
           "passes the end of GM argument '" + argument.name + "' of " + Bytes(argument.bytes) + " by " +
               Bytes(place.hi - argument.end()));
    return false;
  }
  if (write && !argument.writable) {
    Report(Rule::kWrite1, Grade::kError, access, "writes GM argument '" + argument.name + "', which is an input");
    return false;
  }
  if (chip_.options.checked && operand.align > 1 && (operand.start - argument.base) % operand.align != 0) {
    Report(write ? Rule::kWrite4 : Rule::kRead4, Grade::kError, access,
           "start address is not a multiple of " + std::to_string(operand.align));
  }
  return true;
}

bool Checker::AdmitLocal(const Instr& instr, int index, IssueContext& context, bool library) {
  const Operand& operand = instr.operands[index];
  OperandPlace& place = context.places[index];
  const bool write = IsWrite(operand.access);
  if (place.hi > CapacityBytes(operand.mem)) {
    AccessReport access = DescribeOperand(instr, index, context, place.lo, place.hi);
    Report(write ? Rule::kWrite2 : Rule::kRead3, Grade::kError, access,
           std::string("leaves ") + Name(operand.mem) + ", which has " + Bytes(CapacityBytes(operand.mem)));
    return false;
  }
  if (!chip_.options.checked || place.lo == place.hi) return true;
  if (operand.align > 1 && operand.start % operand.align != 0) {
    Report(write ? Rule::kWrite4 : Rule::kRead4, Grade::kError,
           DescribeOperand(instr, index, context, place.lo, place.hi),
           std::string("start address in ") + Name(operand.mem) + " is not a multiple of " +
               std::to_string(operand.align));
  }
  const Origin& origin = operand.origin;
  if (origin.end > origin.begin && (place.lo < origin.begin || place.hi > origin.end)) {
    const uint64_t over = place.hi > origin.end ? place.hi - origin.end : origin.begin - place.lo;
    Report(write ? Rule::kWrite2 : Rule::kRead3, Grade::kError,
           DescribeOperand(instr, index, context, place.lo, place.hi),
           "leaves its tensor of " + Bytes(origin.end - origin.begin) + " by " + Bytes(over));
  }
  CheckBuffer(instr, index, context, library);
  if (!chip_.rows.empty()) CheckRows(instr, index, context);
  return true;
}

void Checker::CheckBuffer(const Instr& instr, int index, const IssueContext& context, bool library) {
  const Operand& operand = instr.operands[index];
  const OperandPlace& place = context.places[index];
  const Rule rule = IsWrite(operand.access) ? Rule::kWrite1 : Rule::kRead1;
  if (operand.origin.buffer != 0) {
    const BufferRecord& buffer = buffers_[operand.origin.buffer];
    if (buffer.forgotten) {
      Report(rule, Grade::kError, DescribeOperand(instr, index, context, place.lo, place.hi),
             "buffer '" + buffer.name + "' belongs to a pool that was reset or destroyed");
    } else if (buffer.is_queue && !buffer.occupied) {
      const std::string when = buffer.freed_at.line != 0 ? std::string(" (freed at ") + buffer.freed_at.file + ":" +
                                                               std::to_string(buffer.freed_at.line) + ")"
                                                         : "";
      Report(rule, Grade::kError, DescribeOperand(instr, index, context, place.lo, place.hi),
             "tensor of queue buffer '" + buffer.name + "' is used while the buffer is free" + when);
    }
    return;
  }
  if (library || (operand.mem == Mem::kUb && place.lo >= kUbScratchOffset)) return;
  // Raw addresses are the static style's business, unless pools manage this memory.
  bool managed = false;
  for (size_t b = 1; b < buffers_.size(); ++b) {
    const BufferRecord& buffer = buffers_[b];
    if (buffer.mem != operand.mem || buffer.forgotten) continue;
    managed = true;
    if (buffer.offset <= place.lo && place.hi <= buffer.offset + buffer.bytes) return;
  }
  if (managed) {
    Report(rule, Grade::kError, DescribeOperand(instr, index, context, place.lo, place.hi),
           std::string("no InitBuffer of ") + Name(operand.mem) + " covers these bytes");
  }
}

void Checker::CheckRows(const Instr& instr, int index, IssueContext& context) {
  const Operand& operand = instr.operands[index];
  OperandPlace& place = context.places[index];
  place.row = chip_.rows.FindAlive(operand.mem, context.stage, place.lo);
  if (place.row >= 0) {
    place.life_start = row_life_start_[place.row];
    if (place.hi <= chip_.rows.rows()[place.row].end()) return;
  }
  if (chip_.rows.FindDead(operand.mem, context.stage, place.lo, place.hi) < 0) return;
  // The bounding range touches a dead row; the access itself may step over it.
  int dead = -1;
  uint64_t dead_lo = 0;
  uint64_t dead_hi = 0;
  ForEachRun(operand, [&](uint64_t lo, uint64_t hi) {
    if (dead >= 0) return;
    dead = chip_.rows.FindDead(operand.mem, context.stage, lo, hi);
    dead_lo = lo;
    dead_hi = hi;
  });
  if (dead < 0) return;
  const BufferRow& row = chip_.rows.rows()[dead];
  AccessReport access = DescribeOperand(instr, index, context, dead_lo, dead_hi);
  if (place.row < 0) access.buffer = row.name;
  const auto& names = chip_.options.stage_names;
  const auto stage = [&](int id) {
    const auto it = names.find(id);
    return std::to_string(id) + (it == names.end() ? "" : " (" + it->second + ")");
  };
  Report(IsWrite(operand.access) ? Rule::kWrite1 : Rule::kRead1, Grade::kError, access,
         "buffer row '" + row.name + "' is dead in stage " + stage(context.stage) + "; it lives from stage " +
             stage(row.first_stage) + " to " + stage(row.last_stage));
}

void Checker::CheckOverlap(const Instr& instr, const IssueContext& context) {
  for (int src = 1; src < instr.count; ++src) {
    const Operand& target = instr.operands[0];
    const Operand& source = instr.operands[src];
    if (source.mem != target.mem || context.places[src].hi <= context.places[0].lo ||
        context.places[0].hi <= context.places[src].lo) {
      continue;
    }
    const std::string text = DescribeOverlap(instr.overlap, target, source, src);
    if (text.empty()) continue;
    Hazard hazard;
    hazard.rule = Rule::kOverlap;
    hazard.access = DescribeOperand(instr, 0, context, context.places[0].lo, context.places[0].hi);
    hazard.access.write = true;
    hazard.has_earlier = true;
    hazard.earlier = DescribeOperand(instr, src, context, context.places[src].lo, context.places[src].hi);
    hazard.text = text;
    hazard.fix = "use a destination that is disjoint from the source";
    hazards_.Add(std::move(hazard));
  }
}

}  // namespace npu_model

// SPDX-License-Identifier: Apache-2.0
// Names for what the checker found.
#include <algorithm>

#include "sched/checker.h"

namespace npu_model {

AccessReport Checker::DescribeSite(const char* name, Site site, Queue queue, int stage) const {
  AccessReport report;
  report.op = name;
  report.file = NormalPath(site.file);
  report.line = site.line;
  report.queue = queue;
  report.stage = stage;
  report.block = block_;
  return report;
}

AccessReport Checker::Describe(Tag tag) const {
  const LogEntry& entry = log_.At(tag);
  const SiteRecord& site = sites_[entry.site];
  AccessReport report = DescribeSite(site.name, {site.file, site.line}, TagQueue(tag), entry.stage);
  report.path = site.path;
  return report;
}

std::string Checker::NameOf(Mem mem, uint64_t address, uint32_t buffer, int stage) const {
  int row = chip_.rows.FindAlive(mem, stage, address);
  if (row < 0) row = chip_.rows.FindAny(mem, address);
  if (row >= 0) return chip_.rows.rows()[row].name;
  if (buffer != 0) return buffers_[buffer].name;
  for (size_t b = 1; b < buffers_.size(); ++b) {
    const BufferRecord& record = buffers_[b];
    if (record.mem == mem && !record.forgotten && record.offset <= address && address < record.offset + record.bytes) {
      return record.name;
    }
  }
  return mem == Mem::kUb && address >= kUbScratchOffset ? "library scratch" : "";
}

AccessReport Checker::DescribeOperand(const Instr& instr, int index, const IssueContext& context, uint64_t lo,
                                      uint64_t hi) const {
  const Operand& operand = instr.operands[index];
  AccessReport report = DescribeSite(instr.name, instr.site, instr.queue, context.stage);
  report.path = sites_[context.site].path;
  report.has_range = true;
  report.write = operand.access != Access::kRead;
  report.mem = operand.mem;
  if (operand.mem == Mem::kGm) {
    const int argument = context.places[index].argument;
    if (argument >= 0) {
      report.buffer = chip_.arguments[argument].name;
      lo -= chip_.arguments[argument].base;
      hi -= chip_.arguments[argument].base;
    }
  } else {
    report.buffer = NameOf(operand.mem, lo, operand.origin.buffer, context.stage);
  }
  report.lo = lo;
  report.hi = hi;
  return report;
}

AccessReport Checker::DescribeEarlier(Tag tag, bool wrote, Mem mem, int argument, uint64_t lo, uint64_t hi) const {
  AccessReport report = Describe(tag);
  report.has_range = true;
  report.write = wrote;
  report.mem = mem;
  report.lo = lo;
  report.hi = hi;
  uint32_t buffer = 0;
  const RecentOperands& recent = log_.Recent(TagQueue(tag), TagSeq(tag));
  if (recent.seq == TagSeq(tag)) {
    const uint64_t base = mem == Mem::kGm && argument >= 0 ? chip_.arguments[argument].base : 0;
    for (int i = 0; i < recent.count; ++i) {
      const OperandRange& range = recent.ranges[i];
      const bool fits =
          wrote ? range.access != Access::kRead : range.access == Access::kRead || range.access == Access::kReadWrite;
      if (range.mem != mem || !fits || range.hi <= base + lo || base + hi <= range.lo) continue;
      report.lo = range.lo - base;
      report.hi = range.hi - base;
      buffer = range.buffer;
      break;
    }
  }
  if (mem == Mem::kGm) {
    report.buffer = argument >= 0 ? chip_.arguments[argument].name : "";
  } else {
    report.buffer = NameOf(mem, lo, buffer, report.stage);
  }
  return report;
}

void Checker::Report(Rule rule, Grade grade, const AccessReport& access, const std::string& text,
                     const std::string& fix) {
  Hazard hazard;
  hazard.rule = rule;
  hazard.grade = grade;
  hazard.access = access;
  hazard.text = text;
  hazard.fix = fix;
  hazards_.Add(std::move(hazard));
}

}  // namespace npu_model

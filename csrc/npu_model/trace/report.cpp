// SPDX-License-Identifier: Apache-2.0
#include "trace/report.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

#include "trace/json.h"
#include "trace/sync_report.h"

namespace npu_model {
namespace {

void WriteAccess(JsonWriter& json, const AccessReport& access) {
  json.BeginObject();
  json.Field("op", access.op);
  json.Field("file", access.file);
  json.Field("line", access.line);
  WriteCallers(json, access.callers);
  json.Field("queue", Name(access.queue));
  json.Field("block", access.block);
  json.Field("stage", access.stage);
  if (access.has_range) {
    json.Field("access", access.write ? "write" : "read");
    json.Field("memory", Name(access.mem));
    json.Field("buffer", access.buffer);
    json.Field("lo", access.lo);
    json.Field("hi", access.hi);
  }
  json.EndObject();
}

void WriteHazard(JsonWriter& json, const Hazard& hazard) {
  json.BeginObject();
  json.Field("rule", Name(hazard.rule));
  json.Field("grade", Name(hazard.grade));
  json.Field("count", hazard.count);
  json.Field("text", hazard.text);
  json.Key("access");
  WriteAccess(json, hazard.access);
  if (hazard.has_earlier) {
    json.Key("earlier");
    WriteAccess(json, hazard.earlier);
  }
  json.Field("missing", hazard.missing);
  json.Field("fix", hazard.fix);
  json.Field("report", hazard.ToString());
  json.EndObject();
}

void WriteQueue(JsonWriter& json, const QueueReport& queue) {
  json.BeginObject();
  json.Field("busy", queue.busy);
  json.Field("instructions", queue.instructions);
  json.Key("wait_for");
  json.BeginObject();
  for (int p = 0; p < kQueueCount; ++p) json.Field(Name(static_cast<Queue>(p)), queue.wait_for[p]);
  json.EndObject();
  json.EndObject();
}

void WriteTraffic(JsonWriter& json, const Traffic& traffic) {
  json.BeginObject();
  json.Field("gm_read_bytes", traffic.gm_read);
  json.Field("gm_write_bytes", traffic.gm_write);
  json.Field("gm_l2_hit_bytes", traffic.gm_l2_hit);
  json.Field("gm_bursts", traffic.gm_bursts);
  json.Field("ub_to_l1_bytes", traffic.ub_to_l1);
  json.Field("l1_to_l0a_bytes", traffic.l1_to_l0a);
  json.Field("l1_to_l0b_bytes", traffic.l1_to_l0b);
  json.Field("l1_to_ub_bytes", traffic.l1_to_ub);
  json.Field("l0c_to_ub_bytes", traffic.l0c_to_ub);
  json.Field("ub_to_l0c_bytes", traffic.ub_to_l0c);
  json.Field("ub_to_ub_bytes", traffic.ub_to_ub);
  json.Field("vector_repeats", traffic.vector_repeats);
  json.Field("bank_conflict_cycles", traffic.conflict_cycles);
  json.Field("mmad_fractals", traffic.mmad_fractals);
  json.Field("spr_writes", traffic.spr_writes);
  json.Field("flag_sets", traffic.flag_sets);
  json.Field("flag_waits", traffic.flag_waits);
  json.Field("queue_barriers", traffic.queue_barriers);
  json.Field("full_barriers", traffic.full_barriers);
  json.Field("scalar_ub", traffic.scalar_ub);
  json.Field("scalar_gm_hits", traffic.scalar_gm_hits);
  json.Field("scalar_gm_misses", traffic.scalar_gm_misses);
  json.EndObject();
}

// Per API name and queue, over all blocks: how often, and how many cycles on the queue (waits included).
void WriteInstructions(JsonWriter& json, const std::vector<BlockReport>& blocks) {
  std::map<std::pair<std::string, Queue>, std::pair<uint64_t, double>> sums;
  for (const BlockReport& block : blocks) {
    for (const SiteRecord& site : block.sites) {
      if (site.count == 0) continue;
      auto& [count, cycles] = sums[{site.name, site.queue}];
      count += site.count;
      cycles += site.cycles;
    }
  }
  json.BeginArray();
  for (const auto& [key, sum] : sums) {
    json.BeginObject();
    json.Field("op", key.first);
    json.Field("queue", Name(key.second));
    json.Field("count", sum.first);
    json.Field("cycles", sum.second);
    json.EndObject();
  }
  json.EndArray();
}

// One stage's or one block's cycles on the critical path.
void WriteLinks(JsonWriter& json, const CriticalPath::Stage& stage) {
  constexpr const char* kKinds[kLinkKinds] = {"busy", "latency", "other_blocks"};
  for (int kind = 0; kind < kLinkKinds; ++kind) {
    json.Key(kKinds[kind]);
    json.BeginObject();
    for (int q = 0; q < kQueueCount; ++q) json.Field(Name(static_cast<Queue>(q)), stage.cycles[q][kind]);
    json.EndObject();
  }
}

std::string StageName(const std::map<int, std::string>& names, int stage) {
  const auto it = names.find(stage);
  if (it != names.end()) return it->second;
  return stage < 0 ? "outside" : "stage " + std::to_string(stage);
}

// The instructions that stand longest on the path of the slowest core.
void WriteCriticalLines(JsonWriter& json, const Report& report) {
  constexpr size_t kShown = 20;
  std::map<std::pair<std::string, std::string>, double> sums;  // {op and queue, place}
  for (const BlockReport& block : report.blocks) {
    if (block.block % report.cores != report.SlowestCore()) continue;
    for (const SiteRecord& site : block.sites) {
      if (site.critical == 0) continue;
      sums[{std::string(Name(site.queue)) + " " + site.name,
            NormalPath(site.file) + ":" + std::to_string(site.line) +
                CallersText(report.symbolizer->Callers(site.path))}] += site.critical;
    }
  }
  std::vector<std::pair<double, std::pair<std::string, std::string>>> lines;
  for (const auto& [key, cycles] : sums) lines.push_back({cycles, key});
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (lines.size() > kShown) lines.resize(kShown);
  json.BeginArray();
  for (const auto& [cycles, key] : lines) {
    json.BeginObject();
    json.Field("instruction", key.first);
    json.Field("place", key.second);
    json.Field("cycles", cycles);
    json.EndObject();
  }
  json.EndArray();
}

void WriteCriticalPath(JsonWriter& json, const Report& report) {
  const CriticalPath path = report.SlowestPath();
  CriticalPath::Stage sum;
  double cycles = 0;
  for (const CriticalPath::Stage& stage : path.stages) {
    for (int q = 0; q < kQueueCount; ++q) {
      for (int kind = 0; kind < kLinkKinds; ++kind) {
        sum.cycles[q][kind] += stage.cycles[q][kind];
        cycles += stage.cycles[q][kind];
      }
    }
  }
  json.BeginObject();
  json.Field("cycles", cycles);
  WriteLinks(json, sum);
  json.Key("stages");
  json.BeginArray();
  for (size_t stage = 0; stage < path.stages.size(); ++stage) {
    json.BeginObject();
    json.Field("stage", static_cast<int>(stage) - 1);
    json.Field("name", StageName(report.stage_names, static_cast<int>(stage) - 1));
    WriteLinks(json, path.stages[stage]);
    json.EndObject();
  }
  json.EndArray();
  json.Key("lines");
  WriteCriticalLines(json, report);
  json.EndObject();
}

}  // namespace

double Report::cycles() const {
  return core_cycles.empty() ? 0 : *std::max_element(core_cycles.begin(), core_cycles.end());
}

int Report::SlowestCore() const {
  return static_cast<int>(std::max_element(core_cycles.begin(), core_cycles.end()) - core_cycles.begin());
}

CriticalPath Report::SlowestPath() const {
  CriticalPath path;
  for (const BlockReport& block : blocks) {
    if (block.block % cores == SlowestCore()) path.Add(block.critical);
  }
  return path;
}

Traffic Report::traffic() const {
  Traffic total;
  for (const BlockReport& block : blocks) total.Add(block.traffic);
  return total;
}

std::string Report::error() const {
  for (const BlockReport& block : blocks) {
    if (!block.error.empty()) return "block " + std::to_string(block.block) + ": " + block.error;
  }
  return "";
}

std::string Report::HazardText(size_t max_items) const {
  std::string text;
  size_t shown = 0;
  for (const Grade grade : {Grade::kError, Grade::kAutoSync, Grade::kSuspicious}) {
    for (const Hazard& hazard : hazards.items()) {
      if (hazard.grade != grade) continue;
      if (shown++ < max_items) text += hazard.ToString() + "\n";
    }
  }
  if (shown > max_items) text += "... and " + std::to_string(shown - max_items) + " more\n";
  return text;
}

std::string Report::ToJson() const {
  JsonWriter json;
  json.BeginObject();
  json.Field("kernel", kernel);
  json.Field("block_num", block_num);
  json.Field("cores", cores);
  json.Field("checked", checked);
  json.Field("params", optimistic ? "optimistic" : "pessimistic");
  json.Field("seconds", seconds);
  json.Field("error", error());
  json.Key("hazards");
  json.BeginObject();
  json.Field("errors", errors());
  json.Field("auto_sync", auto_sync());
  json.Field("suspicious", hazards.Count(Grade::kSuspicious));
  json.Key("reports");
  json.BeginArray();
  for (const Hazard& hazard : hazards.items()) WriteHazard(json, hazard);
  json.EndArray();
  json.EndObject();
  const Traffic sum = traffic();
  json.Field("gm_bytes", sum.gm_read + sum.gm_write);
  json.Key("traffic");
  WriteTraffic(json, sum);
  json.Key("model_cycles");
  json.BeginObject();
  json.Field("total", cycles());
  json.Key("cores");
  json.BeginArray();
  for (const double core : core_cycles) json.Value(core);
  json.EndArray();
  if (!work_unit.empty()) {
    const double spent = std::accumulate(core_cycles.begin(), core_cycles.end(), 0.0);
    json.Field("per_" + work_unit, work_units != 0 ? spent / static_cast<double>(work_units) : 0.0);
  }
  json.EndObject();
  json.Key("critical_path");
  WriteCriticalPath(json, *this);
  json.Key("instructions");
  WriteInstructions(json, blocks);
  json.Key("stages");
  json.BeginArray();
  size_t stages = 0;
  for (const BlockReport& block : blocks) stages = std::max(stages, block.stage_busy.size());
  for (size_t stage = 0; stage < stages; ++stage) {
    json.BeginObject();
    json.Field("stage", static_cast<int>(stage) - 1);
    json.Field("name", StageName(stage_names, static_cast<int>(stage) - 1));
    json.Key("busy");
    json.BeginObject();
    for (int q = 0; q < kQueueCount; ++q) {
      double busy = 0;
      for (const BlockReport& block : blocks) busy += stage < block.stage_busy.size() ? block.stage_busy[stage][q] : 0;
      json.Field(Name(static_cast<Queue>(q)), busy);
    }
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
  if (sync != nullptr) {
    json.Key("sync");
    WriteSync(json, *sync, *symbolizer);
  }
  if (redundancy != nullptr) {
    json.Key("redundant_sync");
    WriteRedundancy(json, *redundancy);
  }
  json.Key("blocks");
  json.BeginArray();
  for (const BlockReport& block : blocks) {
    json.BeginObject();
    json.Field("block", block.block);
    json.Field("cycles", block.cycles);
    json.Field("error", block.error);
    json.Key("queues");
    json.BeginObject();
    for (int q = 0; q < kQueueCount; ++q) {
      json.Key(Name(static_cast<Queue>(q)));
      WriteQueue(json, block.queues[q]);
    }
    json.EndObject();
    json.Key("prints");
    json.BeginArray();
    for (const std::string& print : block.prints) json.Value(print);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace npu_model

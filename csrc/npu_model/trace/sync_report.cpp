// SPDX-License-Identifier: Apache-2.0
#include "trace/sync_report.h"

#include <algorithm>
#include <cstdio>
#include <string>

namespace npu_model {
namespace {

std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

void WriteCallers(JsonWriter& json, const std::vector<CallFrame>& callers) {
  json.Key("callers");
  json.BeginArray();
  for (const CallFrame& caller : callers) {
    json.BeginObject();
    json.Field("file", caller.file);
    json.Field("line", caller.line);
    json.Field("function", caller.function);
    json.EndObject();
  }
  json.EndArray();
}

void WriteSync(JsonWriter& json, const SyncReport& sync, const Symbolizer& symbolizer) {
  json.BeginObject();
  json.Key("sites");
  json.BeginArray();
  for (const SyncSite& site : sync.sites) {
    const std::vector<CallFrame>& callers = symbolizer.Callers(site.path);
    json.BeginObject();
    json.Field("identity", Hex(site.identity));
    json.Field("op", site.op);
    json.Field("library", site.library);
    json.Field("queue", site.op == "PipeBarrier" && site.queue == Queue::kS ? "ALL" : Name(site.queue));
    json.Field("file", site.file);
    json.Field("line", site.line);
    WriteCallers(json, callers);
    json.Field("place", site.file + ":" + std::to_string(site.line) + CallersText(callers, CallPath::kMaxDepth));
    json.Field("count", site.count);
    json.Field("cycles", site.cycles);
    json.EndObject();
  }
  json.EndArray();
  json.Key("pairs");
  json.BeginArray();
  for (const FlagPair& pair : sync.pairs) {
    json.BeginObject();
    json.Field("set", static_cast<uint64_t>(pair.set));
    json.Field("wait", static_cast<uint64_t>(pair.wait));
    json.Field("id", pair.id);
    json.Field("times", pair.times);
    json.EndObject();
  }
  json.EndArray();
  json.Field("closure", Hex(sync.closure));
  json.Field("conflicting_pairs", sync.conflicting_pairs);
  json.EndObject();
}

void WriteRedundancy(JsonWriter& json, const RedundancyReport& report) {
  json.BeginObject();
  json.Field("withheld", report.withheld);
  json.Field("judged", static_cast<uint64_t>(report.groups.size()));
  json.Field("redundant", static_cast<uint64_t>(report.Count()));
  json.Field("cycles", report.cycles);
  json.Field("cycles_together", report.cycles_together);
  json.Key("groups");
  json.BeginArray();
  for (const SyncGroup& group : report.groups) {
    json.BeginObject();
    json.Field("kind", group.barrier ? "barrier" : "flags");
    json.Field("queues", group.queues);
    json.Key("ids");
    json.BeginArray();
    for (const int id : group.ids) json.Value(id);
    json.EndArray();
    json.Key("places");
    json.BeginArray();
    for (const SyncPlace& place : group.places) {
      json.BeginObject();
      json.Field("op", place.op);
      json.Field("file", place.file);
      json.Field("line", place.line);
      WriteCallers(json, place.callers);
      json.Field("place", place.ToString());
      json.EndObject();
    }
    json.EndArray();
    json.Field("executed", group.executed);
    json.Field("stalled", group.stalled);
    json.Field("redundant", group.redundant);
    json.Field("cycles", group.cycles);
    json.Field("together", group.together);
    json.EndObject();
  }
  json.EndArray();
  json.Field("report", report.ToString());
  json.EndObject();
}

std::string SyncPlace::ToString() const {
  // The whole path: two places of one group of callers may differ in the outermost only.
  return op + " at " + file + ":" + std::to_string(line) + CallersText(callers, CallPath::kMaxDepth);
}

std::string SyncGroup::ToString() const {
  std::string text = (barrier ? "barrier " : "flags ") + queues;
  for (size_t i = 0; i < ids.size(); ++i) text += (i == 0 ? " id " : ", ") + std::to_string(ids[i]);
  for (size_t i = 0; i < places.size(); ++i) text += (i == 0 ? ": " : "; ") + places[i].ToString();
  return text;
}

size_t RedundancyReport::Count() const {
  return static_cast<size_t>(
      std::count_if(groups.begin(), groups.end(), [](const SyncGroup& group) { return group.redundant; }));
}

std::string RedundancyReport::ToString() const {
  if (!withheld.empty()) return "redundant synchronisation: not judged, because " + withheld;
  std::string text = "redundant synchronisation in this run: " + std::to_string(Count()) + " of " +
                     std::to_string(groups.size()) + " flag pairs and barriers";
  std::vector<const SyncGroup*> shown;
  for (const SyncGroup& group : groups) {
    if (group.redundant) shown.push_back(&group);
  }
  std::stable_sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) { return a->cycles > b->cycles; });
  for (const SyncGroup* group : shown) {
    char numbers[160];
    std::snprintf(numbers, sizeof numbers, "\n      costs %.0f model cycles in %llu executions, %.0f stalled; %s",
                  group->cycles, static_cast<unsigned long long>(group->executed), group->stalled,
                  group->together ? "can go with the others" : "can go, but not with all the others");
    text += "\n  " + group->ToString() + numbers;
  }
  if (!shown.empty()) {
    char cycles[64];
    std::snprintf(cycles, sizeof cycles, "%.0f", cycles_together);
    text += std::string("\n  without all that can go together: ") + cycles + " model cycles less";
  }
  return text;
}

}  // namespace npu_model

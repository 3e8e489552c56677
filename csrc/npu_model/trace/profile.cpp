// SPDX-License-Identifier: Apache-2.0
#include "trace/profile.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <tuple>

#include "trace/json.h"

namespace npu_model {
namespace {

constexpr int kAllLane = kQueueCount;  // full barriers
constexpr const char* kLanes[kQueueCount + 1] = {"SCALAR", "VECTOR", "CUBE", "MTE1", "MTE2", "MTE3", "ALL"};
// Names of the trace viewer's palette, one per stage in turn.
constexpr const char* kColours[] = {
    "thread_state_running", "rail_response", "rail_animation", "rail_idle", "rail_load", "startup",
    "cq_build_running",     "good",          "terrible",       "yellow",    "olive",     "generic_work"};

double Microseconds(double cycles) { return cycles / kClockMhz; }

std::string CodeOf(const SiteRecord& site) {
  return *site.file == '\0' ? "end of the kernel" : NormalPath(site.file) + ":" + std::to_string(site.line);
}

// Sites have no addresses on the host; their numbers keep rows apart.
std::string Hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", value);
  return text;
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

int LaneOf(const TraceEvent& event) {
  return event.kind == TraceEvent::Kind::kFullBarrier ? kAllLane : static_cast<int>(event.queue);
}

std::string NameOf(TraceEvent::Kind kind, const SiteRecord& site) {
  return kind == TraceEvent::Kind::kIssue ? std::string("issue ") + site.name : site.name;
}

// Writes the events of one block, which starts `offset` cycles after its core.
class BlockTracer {
 public:
  BlockTracer(JsonWriter& json, const Report& report, const BlockReport& block, int core, double offset, int& flow_id)
      : json_(json),
        report_(report),
        block_(block),
        core_("core" + std::to_string(core)),
        offset_(offset),
        flow_id_(flow_id) {}

  void Write() {
    for (const TraceEvent& event : block_.events) {
      switch (event.kind) {
        case TraceEvent::Kind::kInstr:
        case TraceEvent::Kind::kScalar:
        case TraceEvent::Kind::kIssue: Slice(event, LaneOf(event), event.start, event.duration); break;
        case TraceEvent::Kind::kBarrier:
        case TraceEvent::Kind::kFullBarrier: Slice(event, LaneOf(event), event.start + event.duration, 1); break;
        case TraceEvent::Kind::kSetFlag:
          Mark(event, event.start, event.start + event.duration);
          sets_[{event.queue, event.other, event.flag_id}].push_back(event.start);
          break;
        case TraceEvent::Kind::kWaitFlag: {
          Mark(event, event.start, event.start + event.duration);
          // Events are recorded in execution order, so the wait's set stands before it.
          std::deque<double>& sets = sets_[{event.other, event.queue, event.flag_id}];
          if (sets.empty()) break;
          Flow(event.other, event.queue, sets.front(), event.start + event.duration);
          sets.pop_front();
          break;
        }
      }
    }
  }

 private:
  void Common(const std::string& name, const char* phase, int lane, double cycles) {
    json_.Field("name", name);
    json_.Field("ph", phase);
    json_.Field("ts", Microseconds(offset_ + cycles));
    json_.Field("pid", core_);
    json_.Field("tid", kLanes[lane]);
  }

  void Slice(const TraceEvent& event, int lane, double start, double cycles) {
    const SiteRecord& site = block_.sites[event.site];
    json_.BeginObject();
    Common(NameOf(event.kind, site), "X", lane, start);
    json_.Field("dur", Microseconds(cycles));
    json_.Field("cname", kColours[static_cast<size_t>(event.stage + 1) % std::size(kColours)]);
    json_.Key("args");
    json_.BeginObject();
    json_.Field("pc_addr", Hex(event.site));
    json_.Field("code", CodeOf(site));
    // A trace has many issues; the slice of what is issued names the callers.
    if (event.kind != TraceEvent::Kind::kIssue) {
      json_.Field("callers", CallersText(report_.symbolizer->Callers(site.path)));
    }
    json_.Field("detail", DetailOf(event));
    json_.Field("process_bytes", event.bytes);
    json_.EndObject();
    json_.EndObject();
  }

  void Mark(const TraceEvent& event, double begin, double end) {
    const SiteRecord& site = block_.sites[event.site];
    for (const bool opening : {true, false}) {
      json_.BeginObject();
      Common(site.name, opening ? "B" : "E", static_cast<int>(event.queue), opening ? begin : end);
      json_.Field("id", static_cast<int>(event.flag_id));
      json_.Key("args");
      json_.BeginObject();
      json_.Field("code", CodeOf(site));
      json_.EndObject();
      json_.EndObject();
    }
  }

  void Flow(Queue src, Queue dst, double from, double to) {
    const std::string category = std::string(kLanes[static_cast<int>(src)]) + "To" + kLanes[static_cast<int>(dst)];
    const int id = flow_id_++;
    for (const bool start : {true, false}) {
      json_.BeginObject();
      Common("flow", start ? "s" : "t", static_cast<int>(start ? src : dst), start ? from : to);
      json_.Field("cat", category);
      json_.Field("id", id);
      json_.EndObject();
    }
  }

  std::string DetailOf(const TraceEvent& event) const {
    std::string text = "block " + std::to_string(block_.block);
    if (event.kind == TraceEvent::Kind::kFullBarrier) {
      text += std::string(", last to finish ") + kLanes[static_cast<int>(event.other)];
    }
    const auto it = report_.stage_names.find(event.stage);
    if (it != report_.stage_names.end()) return text + ", stage " + it->second;
    return text + (event.stage < 0 ? ", no stage" : ", stage " + std::to_string(event.stage));
  }

  JsonWriter& json_;
  const Report& report_;
  const BlockReport& block_;
  const std::string core_;
  const double offset_;
  int& flow_id_;
  std::map<std::tuple<Queue, Queue, uint8_t>, std::deque<double>> sets_;
};

void Metadata(JsonWriter& json, const std::string& core, const char* name, const char* lane, int index) {
  json.BeginObject();
  json.Field("name", name);
  json.Field("ph", "M");
  json.Field("pid", core);
  if (lane != nullptr) json.Field("tid", lane);
  json.Key("args");
  json.BeginObject();
  json.Field("sort_index", index);
  json.EndObject();
  json.EndObject();
}

// Of a table: an instruction at a source line, as seen from its callers; without a name, the line with all of them.
struct Row {
  std::string instr;
  int lane = 0;
  std::string code;
  std::string callers;
  uint64_t count = 0;
  double cycles = 0;
};

using Rows = std::map<std::tuple<std::string, int, std::string, std::string>, Row>;

void AddTo(Rows& rows, const Row& row) {
  const auto [it, fresh] = rows.try_emplace({row.instr, row.lane, row.code, row.callers}, row);
  if (fresh) return;
  it->second.count += row.count;
  it->second.cycles += row.cycles;
}

int LaneOf(const SiteRecord& site) {
  const bool full = site.queue == Queue::kS && site.name == std::string("PipeBarrier");
  return full ? kAllLane : static_cast<int>(site.queue);
}

// Most cycles first, of the blocks of a core. `scalar`: also what S spends on issuing and registers, which a launch
// records with a trace only.
std::vector<Row> Collect(const Report& report, int core, bool by_instruction, bool scalar) {
  Rows rows;
  for (const BlockReport& block : report.blocks) {
    if (block.block % report.cores != core) continue;
    const auto row_of = [&](const SiteRecord& site, const std::string& name, int lane, uint64_t count, double cycles) {
      const std::string callers = CallersText(report.symbolizer->Callers(site.path));
      return Row{by_instruction ? name : "", by_instruction ? lane : 0, CodeOf(site), callers, count, cycles};
    };
    for (const SiteRecord& site : block.sites) {
      if (site.count != 0) AddTo(rows, row_of(site, site.name, LaneOf(site), site.count, site.cycles));
    }
    if (!scalar) continue;
    // By kind and site; a scalar access is among the sites already.
    std::map<std::pair<TraceEvent::Kind, uint32_t>, std::pair<uint64_t, double>> work;
    for (const TraceEvent& event : block.events) {
      if (event.kind != TraceEvent::Kind::kIssue && event.kind != TraceEvent::Kind::kScalar) continue;
      if (event.kind == TraceEvent::Kind::kScalar && block.sites[event.site].count != 0) continue;
      auto& [count, cycles] = work[{event.kind, event.site}];
      count += event.times;
      cycles += event.duration;
    }
    for (const auto& [key, sum] : work) {
      const SiteRecord& site = block.sites[key.second];
      AddTo(rows, row_of(site, NameOf(key.first, site), static_cast<int>(Queue::kS), sum.first, sum.second));
    }
  }
  std::vector<Row> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) { return a.cycles > b.cycles; });
  return sorted;
}

std::string Numbers(const Row& row) {
  char text[96];
  std::snprintf(text, sizeof text, "%llu,%.1f,%.6f", static_cast<unsigned long long>(row.count), row.cycles,
                Microseconds(row.cycles));
  return text;
}

void WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

std::string TraceJson(const Report& report) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schemaVersion", 2);
  json.Field("displayTimeUnit", "ns");
  json.Field("profilingType", "op");
  json.Key("traceEvents");
  json.BeginArray();
  std::vector<double> offsets(report.core_cycles.size(), 0);
  for (size_t core = 0; core < offsets.size(); ++core) {
    const std::string name = "core" + std::to_string(core);
    Metadata(json, name, "process_sort_index", nullptr, static_cast<int>(core));
    for (int lane = 0; lane <= kAllLane; ++lane) Metadata(json, name, "thread_sort_index", kLanes[lane], lane);
  }
  int flow_id = 0;
  for (const BlockReport& block : report.blocks) {
    const int core = block.block % report.cores;
    BlockTracer(json, report, block, core, offsets[core], flow_id).Write();
    offsets[core] += block.cycles;
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string InstrCsv(const Report& report, int core) {
  std::string text = "instr,addr,pipe,call_count,cycles,running_time(us),detail,callers\n";
  uint32_t address = 0;
  for (const Row& row : Collect(report, core, true, true)) {
    text += row.instr + "," + Hex(address++) + "," + kLanes[row.lane] + "," + Numbers(row) + "," + Quoted(row.code) +
            "," + Quoted(row.callers) + "\n";
  }
  return text;
}

std::string CodeCsv(const Report& report, int core) {
  std::string text = "code,call_count,cycles,running_time(us),callers\n";
  for (const Row& row : Collect(report, core, false, false)) {
    text += row.code + "," + Numbers(row) + "," + Quoted(row.callers) + "\n";
  }
  return text;
}

void WriteProfile(const Report& report, const std::string& directory) {
  const std::filesystem::path root(directory);
  std::filesystem::create_directories(root);
  WriteFile(root / "trace.json", TraceJson(report));
  for (size_t core = 0; core < report.core_cycles.size(); ++core) {
    const std::string name = "core" + std::to_string(core);
    std::filesystem::create_directories(root / name);
    WriteFile(root / name / (name + "_instr_exe.csv"), InstrCsv(report, static_cast<int>(core)));
    WriteFile(root / name / (name + "_code_exe.csv"), CodeCsv(report, static_cast<int>(core)));
  }
}

}  // namespace npu_model

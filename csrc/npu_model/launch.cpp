// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "engine/chip_state.h"
#include "engine/core_state.h"
#include "engine/current.h"
#include "engine/entry_call.h"
#include "sched/cross_core.h"
#include "sched/redundancy.h"

namespace npu_model {
namespace {

std::mutex default_options_mutex;
LaunchOptions default_options;
std::mutex last_report_mutex;
std::shared_ptr<const Report> last_report;

void Validate(const std::vector<GmArg>& args, const LaunchOptions& options, const RowTable& rows) {
  if (options.block_num < 1)
    throw std::invalid_argument("launch: block_num must be at least 1, got " + std::to_string(options.block_num));
  if (options.cores < 1 || options.cores > 64)
    throw std::invalid_argument("launch: cores must lie in 1..64, got " + std::to_string(options.cores));
  if (args.empty() || args.size() + 1 > kMaxEntryArgs) {
    throw std::invalid_argument("launch: " + std::to_string(args.size()) + " GM arguments; 1.." +
                                std::to_string(kMaxEntryArgs - 1) + " are possible");
  }
  const std::string conflict = rows.Conflict();
  if (!conflict.empty()) throw std::invalid_argument("launch: buffer table: " + conflict);
}

void AddArgument(ChipState& chip, const GmArg& arg) {
  if (arg.data == nullptr || arg.bytes == 0) return;
  GmArgument argument;
  argument.base = reinterpret_cast<uint64_t>(arg.data);
  argument.bytes = arg.bytes;
  argument.name = arg.name;
  argument.writable = arg.writable;
  argument.initialised = arg.initialised;
  if (!arg.initialised && chip.options.checked) {
    argument.written = std::make_unique<std::atomic<uint32_t>[]>((arg.bytes + kBlockBytes - 1) / kBlockBytes);
    for (const auto& [offset, bytes] : arg.written) argument.MarkWritten(offset, offset + bytes);
  }
  chip.arguments.push_back(std::move(argument));
}

// Runs one block from its first instruction until all its queues are empty.
void RunBlock(Core& core, void* entry, const std::vector<void*>& pointers) {
  CoreState& state = core.state();
  SetCurrentCore(&core);
  try {
    CallEntry(entry, pointers);
    state.Drain("kernel end", Site());
    state.JoinEverything();
    core.ScalarCacheCleanInvalidate(0, 0, Site());
    state.CheckEnd();
  } catch (const KernelAbort&) {
    // Reported where it was thrown.
  } catch (const std::exception& e) {
    state.error = std::string("the kernel threw: ") + e.what();
  }
  SetCurrentCore(nullptr);
  state.critical = state.timeline.TakeCriticalPath();
  state.checker.ReleaseShadows();
}

BlockReport ReportOf(CoreState& state) {
  BlockReport report;
  report.block = state.block;
  report.cycles = state.timeline.Total();
  for (int q = 0; q < kQueueCount; ++q) {
    const QueueTime& time = state.timeline.queue(static_cast<Queue>(q));
    report.queues[q].busy = time.busy;
    report.queues[q].instructions = time.instructions;
    std::copy(std::begin(time.wait_for), std::end(time.wait_for), std::begin(report.queues[q].wait_for));
  }
  report.stage_busy = state.timeline.stage_busy();
  report.critical = std::move(state.critical);
  report.traffic = state.timeline.traffic();
  report.error = state.error;
  report.prints = std::move(state.prints);
  report.sites = state.sites.records();
  for (size_t site = 0; site < report.critical.sites.size(); ++site) {
    report.sites[site].critical = report.critical.sites[site];
  }
  report.events = std::move(state.events);
  return report;
}

std::shared_ptr<const SyncReport> SyncOf(const std::vector<std::unique_ptr<CoreState>>& states) {
  auto sync = std::make_shared<SyncReport>();
  std::map<uint64_t, size_t> index;
  std::map<std::tuple<size_t, size_t, int>, uint64_t> pairs;
  for (const auto& state : states) {
    std::vector<size_t> of_site;  // the core's numbers -> ours
    for (const SiteRecord& record : state->sites.records()) {
      if (!record.IsSync()) {
        of_site.push_back(0);
        continue;
      }
      const auto [it, fresh] = index.try_emplace(record.identity, sync->sites.size());
      if (fresh) {
        sync->sites.push_back({record.identity, record.path, record.name, NormalPath(record.file), record.line,
                               record.queue, record.library, 0, 0});
      }
      sync->sites[it->second].count += record.count;
      sync->sites[it->second].cycles += record.cycles;
      of_site.push_back(it->second);
    }
    for (const auto& [key, times] : state->flag_pairs) {
      const auto& [set, wait, id] = key;
      pairs[{of_site[set], of_site[wait], id}] += times;
    }
    // Blocks differ in their data, so a pair belongs to its block.
    sync->closure += (state->checker.closure().sum() + static_cast<uint64_t>(state->block)) * 0x9E3779B97F4A7C15ull;
    sync->conflicting_pairs += state->checker.closure().pairs();
  }
  for (const auto& [key, times] : pairs) {
    const auto& [set, wait, id] = key;
    sync->pairs.push_back({set, wait, id, times});
  }
  return sync;
}

// Puts callers into everything the launch has to say. Asking for them costs a process, so a clean launch does not.
std::shared_ptr<const Symbolizer> NameCallers(const ChipState& chip,
                                              const std::vector<std::unique_ptr<CoreState>>& states,
                                              HazardList& hazards) {
  auto symbolizer = std::make_shared<Symbolizer>(chip.code);
  if (chip.options.trace || chip.options.sync_sites || chip.options.redundant_sync || !hazards.items().empty()) {
    CallPaths paths;
    for (const auto& state : states) paths.insert(state->call_paths.begin(), state->call_paths.end());
    symbolizer->Resolve(paths);
  }
  hazards = WithCallers(hazards, *symbolizer);
  for (const auto& state : states) state->error = WithCallers(state->error, *symbolizer);
  return symbolizer;
}

}  // namespace

Report Launch(const std::string& kernel_name, void* entry, const std::vector<GmArg>& args, const void* tiling,
              size_t tiling_bytes, const LaunchOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  unsigned threads = options.threads > 0 ? static_cast<unsigned>(options.threads) : std::thread::hardware_concurrency();
  threads = std::max(1u, threads);
  ChipState chip(options, entry, static_cast<int>(threads));
  Validate(args, options, chip.rows);
  std::vector<void*> pointers;
  for (const GmArg& arg : args) {
    AddArgument(chip, arg);
    pointers.push_back(arg.data);
  }
  // The kernel copies its tiling from GM; an aligned private copy lets it do so through a struct pointer.
  std::vector<uint64_t> tiling_copy((tiling_bytes + 7) / 8 + 1);
  if (tiling_bytes != 0) std::memcpy(tiling_copy.data(), tiling, tiling_bytes);
  AddArgument(chip, {tiling_copy.data(), std::max<uint64_t>(tiling_bytes, 1), "tiling", false, true});
  chip.tiling = reinterpret_cast<uint64_t>(tiling_copy.data());
  chip.tiling_bytes = tiling_bytes;
  pointers.push_back(tiling_copy.data());

  const CostParams& params = options.optimistic ? kOptimistic : kPessimistic;
  std::vector<std::unique_ptr<Core>> cores(options.block_num);
  const int core_threads = std::min(options.cores, options.block_num);
  std::mutex progress_mutex;
  int done = 0;
  std::exception_ptr progress_error;
  const auto run_core = [&](int core_idx) {
    CoreMemory memory;
    for (int block = core_idx; block < options.block_num; block += options.cores) {
      chip.sync.AcquireToken();
      memory.Poison();
      cores[block] = std::make_unique<Core>(std::make_unique<CoreState>(chip, memory, block, params));
      RunBlock(*cores[block], entry, pointers);
      chip.sync.BlockEnded(block, !cores[block]->state().error.empty());
      chip.sync.ReleaseToken();
      if (options.progress) {
        std::lock_guard<std::mutex> lock(progress_mutex);
        try {
          if (!progress_error) options.progress(++done, options.block_num);
        } catch (...) {
          progress_error = std::current_exception();
        }
      }
    }
  };
  std::vector<std::thread> workers;
  for (int c = 0; c < core_threads; ++c) workers.emplace_back(run_core, c);
  for (std::thread& worker : workers) worker.join();
  if (progress_error) std::rethrow_exception(progress_error);

  Report report;
  report.kernel = kernel_name;
  report.block_num = options.block_num;
  report.cores = options.cores;
  report.checked = options.checked;
  report.optimistic = options.optimistic;
  report.stage_names = options.stage_names;
  report.work_unit = options.work_unit;
  report.work_units = options.work_units;
  report.core_cycles.assign(core_threads, 0);
  std::vector<std::unique_ptr<CoreState>> states;
  for (int block = 0; block < options.block_num; ++block) states.push_back(cores[block]->TakeState());
  for (auto& state : states) report.hazards.Merge(state->hazards);
  if (options.checked && options.block_num > 1) FindCrossCoreConflicts(chip, states, report.hazards);
  if (options.sync_sites) report.sync = SyncOf(states);
  report.symbolizer = NameCallers(chip, states, report.hazards);
  if (options.checked && options.redundant_sync) {
    report.redundancy = FindRedundantSync(states, *report.symbolizer, params, options.cores);
  }
  for (auto& state : states) {
    report.blocks.push_back(ReportOf(*state));
    report.core_cycles[state->block % options.cores] += report.blocks.back().cycles;
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::lock_guard<std::mutex> lock(last_report_mutex);
  last_report = std::make_shared<const Report>(report);
  return report;
}

std::shared_ptr<const Report> LastReport() {
  std::lock_guard<std::mutex> lock(last_report_mutex);
  return last_report;
}

LaunchOptions DefaultOptions() {
  std::lock_guard<std::mutex> lock(default_options_mutex);
  return default_options;
}

void SetDefaultOptions(const LaunchOptions& options) {
  std::lock_guard<std::mutex> lock(default_options_mutex);
  default_options = options;
}

}  // namespace npu_model

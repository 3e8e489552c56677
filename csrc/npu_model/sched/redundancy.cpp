// SPDX-License-Identifier: Apache-2.0
#include "sched/redundancy.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "sched/replay.h"

namespace npu_model {
namespace {

constexpr size_t kNoPlace = ~size_t{0};

struct Place {
  SyncPlace text;
  Queue queue = Queue::kS;
  bool library = false;
  uint64_t executed = 0;
  double stalled = 0;
};

// The kernel's synchronisation by place; copies that the compiler made of one place are one.
class Places {
 public:
  Places(const std::vector<std::unique_ptr<CoreState>>& blocks, const Symbolizer& symbolizer) {
    std::map<std::string, size_t> index;
    for (const auto& block : blocks) {
      std::vector<size_t>& of_site = of_site_.emplace_back();
      for (const SiteRecord& site : block->sites.records()) {
        of_site.push_back(site.IsSync() ? Intern(site, symbolizer, index) : kNoPlace);
      }
    }
    parent_.resize(places_.size());
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    ids_.resize(places_.size());
    for (size_t b = 0; b < blocks.size(); ++b) {
      for (const auto& [pair, times] : blocks[b]->flag_pairs) {
        const auto& [set, wait, id] = pair;
        parent_[Root(of_site_[b][set])] = Root(of_site_[b][wait]);
        ids_[of_site_[b][set]].insert(id);
      }
    }
  }

  // A barrier, or SetFlags and the WaitFlags that consume what they set: one cannot go without the others.
  std::vector<std::vector<size_t>> Groups() {
    std::map<size_t, std::vector<size_t>> members;
    for (size_t place = 0; place < places_.size(); ++place) members[Root(place)].push_back(place);
    std::vector<std::vector<size_t>> groups;
    for (auto& [root, group] : members) {
      if (IsCandidate(group)) groups.push_back(std::move(group));
    }
    std::sort(groups.begin(), groups.end());  // by first appearance
    return groups;
  }

  DroppedSites SitesOf(size_t block, const std::vector<size_t>& places) const {
    DroppedSites dropped;
    for (const size_t place : of_site_[block]) {
      dropped.push_back(std::find(places.begin(), places.end(), place) != places.end());
    }
    return dropped;
  }

  SyncGroup Describe(const std::vector<size_t>& group) const {
    SyncGroup out;
    out.barrier = places_[group[0]].text.op == "PipeBarrier";
    std::set<std::string> from, to;
    std::set<int> ids;
    for (const size_t index : group) {
      const Place& place = places_[index];
      out.places.push_back(place.text);
      const bool waits = place.text.op == "WaitFlag";
      (waits ? to : from).insert(out.barrier && place.queue == Queue::kS ? "ALL" : Name(place.queue));
      ids.insert(ids_[index].begin(), ids_[index].end());
      out.executed += waits ? 0 : place.executed;
      out.stalled += place.text.op == "SetFlag" ? 0 : place.stalled;
    }
    const auto join = [](const std::set<std::string>& names) {
      std::string text;
      for (const std::string& name : names) text += (text.empty() ? "" : "/") + name;
      return text;
    };
    out.queues = join(from) + (out.barrier ? "" : " -> " + join(to));
    out.ids.assign(ids.begin(), ids.end());
    return out;
  }

 private:
  size_t Intern(const SiteRecord& site, const Symbolizer& symbolizer, std::map<std::string, size_t>& index) {
    Place place;
    place.text = {site.name, NormalPath(site.file), site.line, symbolizer.Callers(site.path)};
    place.queue = site.queue;
    std::string key = place.text.op + Name(site.queue) + place.text.file + ":" + std::to_string(site.line) +
                      CallersText(place.text.callers, CallPath::kMaxDepth);
    const auto [it, fresh] = index.try_emplace(std::move(key), places_.size());
    if (fresh) places_.push_back(std::move(place));
    Place& known = places_[it->second];
    known.library |= site.library;
    known.executed += site.count;
    known.stalled += site.cycles;
    return it->second;
  }

  bool IsCandidate(const std::vector<size_t>& group) const {
    bool sets = false;
    bool waits = false;
    bool barrier = false;
    for (const size_t index : group) {
      const Place& place = places_[index];
      if (place.library) return false;
      sets |= place.text.op == "SetFlag";
      waits |= place.text.op == "WaitFlag";
      barrier |= place.text.op == "PipeBarrier";
    }
    return barrier || (sets && waits);
  }

  size_t Root(size_t place) {
    while (parent_[place] != place) place = parent_[place] = parent_[parent_[place]];
    return place;
  }

  std::vector<Place> places_;
  std::vector<std::vector<size_t>> of_site_;  // [block][site of the block]
  std::vector<size_t> parent_;
  std::vector<std::set<int>> ids_;
};

std::string WhyNone(const std::vector<std::unique_ptr<CoreState>>& blocks) {
  for (const auto& block : blocks) {
    if (!block->error.empty()) return "the kernel did not run to its end";
    if (block->sync_log.overflown()) {
      return "block " + std::to_string(block->block) + " takes more than " + std::to_string(SyncLog::kMaxSteps) +
             " steps";
    }
  }
  return "";
}

class Judge {
 public:
  Judge(const std::vector<std::unique_ptr<CoreState>>& blocks, const Places& places, const CostParams& params,
        int cores)
      : blocks_(blocks), places_(places), params_(params), cores_(cores) {}

  bool Redundant(const std::vector<size_t>& group) const {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const DroppedSites dropped = places_.SitesOf(b, group);
      const bool touched = std::find(dropped.begin(), dropped.end(), true) != dropped.end();
      if (touched && !OrderSurvives(blocks_[b]->sync_log, dropped)) return false;
    }
    return true;
  }

  // Model cycles of the slowest core.
  double Cycles(const std::vector<size_t>& without) const {
    std::vector<double> core(static_cast<size_t>(cores_), 0.0);
    for (size_t b = 0; b < blocks_.size(); ++b) {
      core[b % core.size()] += CyclesWithout(blocks_[b]->sync_log, places_.SitesOf(b, without), params_);
    }
    return *std::max_element(core.begin(), core.end());
  }

 private:
  const std::vector<std::unique_ptr<CoreState>>& blocks_;
  const Places& places_;
  const CostParams& params_;
  const int cores_;
};

}  // namespace

std::shared_ptr<const RedundancyReport> FindRedundantSync(const std::vector<std::unique_ptr<CoreState>>& blocks,
                                                          const Symbolizer& symbolizer, const CostParams& params,
                                                          int cores) {
  auto report = std::make_shared<RedundancyReport>();
  report->withheld = WhyNone(blocks);
  if (!report->withheld.empty()) return report;
  Places places(blocks, symbolizer);
  const Judge judge(blocks, places, params, cores);
  const double total = report->cycles = judge.Cycles({});
  std::vector<std::pair<size_t, std::vector<size_t>>> redundant;  // {index into groups, its places}
  for (const std::vector<size_t>& group : places.Groups()) {
    SyncGroup& described = report->groups.emplace_back(places.Describe(group));
    described.redundant = judge.Redundant(group);
    if (!described.redundant) continue;
    described.cycles = total - judge.Cycles(group);
    redundant.push_back({report->groups.size() - 1, group});
  }
  // One may cover for another, so they cannot always go together: the costlier first.
  std::stable_sort(redundant.begin(), redundant.end(), [&](const auto& a, const auto& b) {
    return report->groups[a.first].cycles > report->groups[b.first].cycles;
  });
  std::vector<size_t> gone;
  for (const auto& [index, group] : redundant) {
    std::vector<size_t> joint = gone;
    joint.insert(joint.end(), group.begin(), group.end());
    if (!judge.Redundant(joint)) continue;
    report->groups[index].together = true;
    gone = std::move(joint);
  }
  report->cycles_together = total - judge.Cycles(gone);
  return report;
}

}  // namespace npu_model

// SPDX-License-Identifier: Apache-2.0
#include "trace/symbolize.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

extern char** environ;

namespace npu_model {
namespace {

constexpr size_t kBatch = 1024;  // addresses per command line

using Frames = std::vector<CallFrame>;

// "void a::(anonymous namespace)::B<int>::C<4>(float)" -> "C"
std::string ShortName(std::string function) {
  static const std::string kUnnamed = "(anonymous namespace)";
  for (size_t at; (at = function.find(kUnnamed)) != std::string::npos;) function.erase(at, kUnnamed.size());
  std::string name;
  int depth = 0;
  for (const char c : function) {
    const bool is_call_operator = name.size() >= 8 && name.compare(name.size() - 8, 8, "operator") == 0;
    if (c == '(' && depth == 0 && is_call_operator) return "operator()";
    if (c == '(' && depth == 0 && !name.empty()) break;
    if (c == '<') ++depth;
    if (depth == 0) name += c;
    if (c == '>') depth = std::max(0, depth - 1);
  }
  const size_t start = name.find_last_of(": ");
  return start == std::string::npos ? name : name.substr(start + 1);
}

bool IsApiHeader(const std::string& file) {
  return file.find("npu_model/api/") != std::string::npos || file.find("npu_model/engine/") != std::string::npos;
}

std::string Run(std::vector<std::string> words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n = 0; failed == 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    out.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  if (failed == 0) waitpid(child, nullptr, 0);
  return out;
}

std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// Answers of `addr2line -a -i -f`: the address, then pairs of lines (function, file:line), inlined callees first.
void Parse(const std::string& text, std::map<uint32_t, Frames>& known) {
  Frames* frames = nullptr;
  std::string function;
  bool expects_place = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (!expects_place && line.compare(0, 2, "0x") == 0) {
      frames = &known[static_cast<uint32_t>(std::strtoull(line.c_str(), nullptr, 16))];
      frames->clear();
      continue;
    }
    if (!expects_place) {
      function = line;
    } else if (const size_t colon = line.rfind(':'); frames != nullptr && colon != std::string::npos) {
      const uint32_t number = static_cast<uint32_t>(std::strtoul(line.c_str() + colon + 1, nullptr, 10));
      if (number != 0) frames->push_back({NormalPath(line.substr(0, colon)), number, ShortName(function)});
    }
    expects_place = !expects_place;
  }
}

// What is known of each library, by where it lies: for the whole process, because kernels stay loaded. A file may have
// been replaced by another version since.
std::mutex known_mutex;
std::map<uintptr_t, std::map<uint32_t, Frames>> known_frames;

}  // namespace

void Symbolizer::Resolve(const CallPaths& paths) {
  if (library_.empty()) return;
  const std::lock_guard<std::mutex> lock(known_mutex);
  std::map<uint32_t, Frames>& known = known_frames[base_];
  std::set<uint32_t> unknown;
  for (const auto& [id, path] : paths) {
    for (uint32_t i = 0; i < path.depth; ++i) {
      if (known.count(path.at[i]) == 0) unknown.insert(path.at[i]);
    }
  }
  for (auto next = unknown.begin(); next != unknown.end();) {
    std::vector<std::string> words = {"addr2line", "-a", "-i", "-f", "-C", "-e", library_};
    for (size_t n = 0; n < kBatch && next != unknown.end(); ++n, ++next) {
      words.push_back(Hex(*next));
      known[*next];
    }
    Parse(Run(std::move(words)), known);
  }
  for (const auto& [id, path] : paths) {
    Frames frames;
    for (uint32_t i = 0; i < path.depth; ++i) {
      for (const CallFrame& frame : known[path.at[i]]) {
        if (!IsApiHeader(frame.file)) frames.push_back(frame);
      }
    }
    if (!frames.empty()) frames.erase(frames.begin());
    callers_[id] = std::move(frames);
  }
}

const std::vector<CallFrame>& Symbolizer::Callers(uint64_t path) const {
  static const std::vector<CallFrame> none;
  const auto it = callers_.find(path);
  return it == callers_.end() ? none : it->second;
}

std::string WithCallers(const std::string& text, const Symbolizer& symbolizer) {
  std::string out;
  size_t at = 0;
  for (size_t mark = 0; (mark = text.find(kCallMark, at)) != std::string::npos;) {
    const size_t end = text.find(kCallMark, mark + 1);
    if (end == std::string::npos) break;
    out += text.substr(at, mark - at);
    char* path = nullptr;
    const int shown = static_cast<int>(std::strtol(text.c_str() + mark + 1, &path, 16));
    out += CallersText(symbolizer.Callers(std::strtoull(path, nullptr, 16)), shown);
    at = end + 1;
  }
  return out + text.substr(at);
}

HazardList WithCallers(const HazardList& hazards, const Symbolizer& symbolizer) {
  HazardList named;
  for (Hazard hazard : hazards.items()) {
    for (AccessReport* access : {&hazard.access, &hazard.earlier}) {
      access->callers = symbolizer.Callers(access->path);
      access->path = 0;
    }
    hazard.text = WithCallers(hazard.text, symbolizer);
    hazard.fix = WithCallers(hazard.fix, symbolizer);
    named.Add(std::move(hazard));
  }
  return named;
}

}  // namespace npu_model

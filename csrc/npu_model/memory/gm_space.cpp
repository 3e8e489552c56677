// SPDX-License-Identifier: Apache-2.0
#include "memory/gm_space.h"

namespace npu_model {
namespace {

// Rows of one head are short and far apart; small pages keep the shadow in proportion to what is touched.
constexpr uint32_t kPageBlocks = 16;

uint32_t ByteMask(uint64_t lo, uint64_t hi, uint64_t block) {
  const uint64_t begin = block * kBlockBytes;
  const uint32_t first = lo > begin ? static_cast<uint32_t>(lo - begin) : 0;
  const uint32_t last = hi < begin + kBlockBytes ? static_cast<uint32_t>(hi - begin) : kBlockBytes;
  return static_cast<uint32_t>(((uint64_t{1} << last) - 1) & ~((uint64_t{1} << first) - 1));
}

}  // namespace

void GmArgument::MarkWritten(uint64_t lo, uint64_t hi) {
  for (uint64_t block = lo / kBlockBytes; block * kBlockBytes < hi; ++block) {
    const uint32_t mask = ByteMask(lo, hi, block);
    if ((written[block].load(std::memory_order_relaxed) & mask) != mask) written[block].fetch_or(mask);
  }
}

bool GmArgument::IsWritten(uint64_t lo, uint64_t hi) const {
  for (uint64_t block = lo / kBlockBytes; block * kBlockBytes < hi; ++block) {
    const uint32_t mask = ByteMask(lo, hi, block);
    if ((written[block].load() & mask) != mask) return false;
  }
  return true;
}

GmCoreArgument::GmCoreArgument(const GmArgument& argument, bool shadowed) : l2(argument.bytes) {
  // Nothing can conflict over an input.
  if (shadowed && argument.writable)
    shadow = std::make_unique<ShadowSpace>(argument.bytes, kPageBlocks, argument.initialised);
}

int FindArgument(const std::vector<GmArgument>& arguments, uint64_t address) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].base <= address && address < arguments[i].end()) return static_cast<int>(i);
  }
  return -1;
}

std::string DescribeStray(const std::vector<GmArgument>& arguments, uint64_t address) {
  // Small addresses are offsets from a null pointer.
  if (address < (uint64_t{1} << 32)) return "the address comes from an absent (null) GM argument";
  const GmArgument* nearest = nullptr;
  uint64_t distance = ~uint64_t{0};
  for (const GmArgument& argument : arguments) {
    const uint64_t gap = address >= argument.end() ? address - argument.end() + 1 : argument.base - address;
    if (argument.bytes != 0 && gap < distance) {
      nearest = &argument;
      distance = gap;
    }
  }
  if (nearest == nullptr) return "the kernel has no GM arguments";
  if (address >= nearest->end()) {
    return "the address lies " + std::to_string(address - nearest->end()) + " bytes behind the end of GM argument '" +
           nearest->name + "'";
  }
  return "the address lies " + std::to_string(nearest->base - address) + " bytes before GM argument '" + nearest->name +
         "'";
}

}  // namespace npu_model

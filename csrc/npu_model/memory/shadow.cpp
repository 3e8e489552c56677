// SPDX-License-Identifier: Apache-2.0
#include "memory/shadow.h"

#include <algorithm>

namespace npu_model {
namespace {

bool Exempt(const ShadowAccess& access, Tag earlier) {
  if (TagQueue(earlier) != TagQueue(access.tag)) return false;
  if (earlier == access.tag) return true;
  if (access.chain) return access.log->At(earlier).chain;
  if (access.atomic) return access.log->At(earlier).atomic;
  return false;
}

bool Unordered(const ShadowAccess& access, Tag earlier) {
  return TagSeq(earlier) > access.limit[earlier >> kTagSeqBits] && !Exempt(access, earlier);
}

bool Stale(const ShadowAccess& access, Tag writer, uint64_t address) {
  return access.life_start != 0 && address >= access.life_lo && address < access.life_hi &&
         access.log->At(writer).issue < access.life_start;
}

// `earlier` conflicts with the access. Exempt pairs need no order.
void Demand(const ShadowAccess& access, Tag earlier) {
  const uint32_t queue = earlier >> kTagSeqBits;
  const uint32_t seq = TagSeq(earlier);
  if (seq > access.needs[queue] && seq <= access.limit[queue] && !Exempt(access, earlier)) access.needs[queue] = seq;
}

void DemandAll(const ShadowAccess& access, Tag writer, const uint32_t* readers) {
  Demand(access, writer);
  for (int p = 0; p < kQueueCount; ++p) Demand(access, MakeTag(static_cast<Queue>(p), readers[p]));
}

// Adds a pair to the closure; `address` is a block's or a byte's.
void NotePair(const ShadowAccess& access, Tag earlier, bool earlier_wrote, bool writes, uint64_t address) {
  if (TagSeq(earlier) == 0 || earlier == access.tag) return;
  const SiteTable& sites = *access.sites;
  const uint64_t place = address | static_cast<uint64_t>(access.space) << 48;
  access.closure->Add(sites[access.site].identity, sites[access.log->At(earlier).site].identity, earlier_wrote, writes,
                      !Unordered(access, earlier), place);
}

void NoteWrite(const ShadowAccess& access, Tag writer, const uint32_t* readers, uint64_t address) {
  NotePair(access, writer, true, true, address);
  for (int p = 0; p < kQueueCount; ++p) {
    NotePair(access, MakeTag(static_cast<Queue>(p), readers[p]), false, true, address);
  }
}

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// `bytes` bytes inside [lo, hi) whose latest writer was `earlier` have a new one.
void NoteOverwritten(const ShadowAccess& access, Tag earlier, uint32_t bytes, uint64_t lo, uint64_t hi) {
  if (!access.track_unread || TagSeq(earlier) == 0 || earlier == access.tag) return;
  LogEntry& entry = access.log->At(earlier);
  entry.live_bytes -= std::min(entry.live_bytes, bytes);
  if (entry.live_bytes == 0 && !entry.was_read) {
    access.sink->OnOverwrittenUnread(earlier, lo, hi);
    entry.was_read = true;  // once is enough
  }
}

}  // namespace

void Closure::Add(uint64_t later, uint64_t earlier, bool earlier_wrote, bool later_writes, bool ordered,
                  uint64_t address) {
  const uint64_t kind = (earlier_wrote ? 1 : 0) | (later_writes ? 2 : 0) | (ordered ? 4 : 0);
  sum_ += Mix(Mix(Mix(later) + earlier) + (address << 3 | kind));
  ++pairs_;
}

ShadowSpace::ShadowSpace(uint64_t bytes, uint32_t page_blocks, bool initialised)
    : block_count_((bytes + kBlockBytes - 1) / kBlockBytes), page_blocks_(page_blocks), initialised_(initialised) {
  pages_.resize((block_count_ + page_blocks_ - 1) / page_blocks_);
}

void ShadowSpace::Clear() {
  for (auto& page : pages_) {
    if (page) std::fill_n(page.get(), page_blocks_, Block{0, initialised_ ? ~0u : 0u, {}});
  }
  details_.clear();
  free_details_.clear();
}

ShadowSpace::Block* ShadowSpace::Page(uint64_t index) {
  auto& page = pages_[index];
  if (!page) {
    page = std::make_unique<Block[]>(page_blocks_);
    if (initialised_) {
      for (uint32_t i = 0; i < page_blocks_; ++i) page[i].init = ~0u;
    }
  }
  return page.get();
}

ShadowSpace::Detail& ShadowSpace::Refine(Block& block) {
  if (IsDetail(block.write)) return *details_[TagSeq(block.write)];
  uint32_t index;
  if (free_details_.empty()) {
    index = static_cast<uint32_t>(details_.size());
    details_.push_back(std::make_unique<Detail>());
  } else {
    index = free_details_.back();
    free_details_.pop_back();
  }
  Byte state;
  state.write = block.write;
  std::copy(std::begin(block.read), std::end(block.read), std::begin(state.read));
  std::fill(std::begin(details_[index]->bytes), std::end(details_[index]->bytes), state);
  block.write = (kDetailQueue << kTagSeqBits) | index;
  return *details_[index];
}

void ShadowSpace::Release(Block& block) {
  if (IsDetail(block.write)) free_details_.push_back(TagSeq(block.write));
}

void ShadowSpace::ReadBlocks(const ShadowAccess& access, Block* blocks, uint64_t count, uint64_t address) {
  const int queue = static_cast<int>(TagQueue(access.tag));
  const uint32_t seq = TagSeq(access.tag);
  Tag last = ~0u;
  bool conflict = false;
  bool stale = false;
  for (uint64_t i = 0; i < count; ++i, address += kBlockBytes) {
    Block& block = blocks[i];
    if (block.write != last) {
      if (IsDetail(block.write)) {
        Bytes<Op::kRead>(access, block, address, 0, kBlockBytes);
        continue;
      }
      last = block.write;
      conflict = Unordered(access, last);
      if (access.needs != nullptr) Demand(access, last);
      if (TagSeq(last) != 0) {
        access.log->At(last).was_read = true;
        stale = Stale(access, last, address);
      } else {
        stale = false;
      }
    }
    if (access.closure != nullptr) NotePair(access, last, true, false, address);
    if (conflict) access.sink->OnConflict(last, true, address, address + kBlockBytes);
    if (block.init != ~0u || stale) {
      const uint32_t missing = stale ? ~0u : ~block.init;
      const uint32_t first = __builtin_ctz(missing);
      access.sink->OnUninitialised(address + first, address + kBlockBytes - __builtin_clz(missing));
    }
    block.read[queue] = seq;
  }
}

template <bool kCheck, bool kRecord>
void ShadowSpace::WriteBlocks(const ShadowAccess& access, Block* blocks, uint64_t count, uint64_t address) {
  constexpr Op kOp = kRecord ? (kCheck ? Op::kCheckedWrite : Op::kWrite) : Op::kCheckWrite;
  Tag last = ~0u;
  bool conflict = false;
  uint32_t overwritten = 0;
  uint64_t run_begin = address;
  for (uint64_t i = 0; i < count; ++i, address += kBlockBytes) {
    Block& block = blocks[i];
    if (IsDetail(block.write)) {
      Bytes<kOp>(access, block, address, 0, kBlockBytes);
      if (kRecord) {
        Release(block);
        block = Block{access.tag, ~0u, {}};
      }
      continue;
    }
    if (block.write != last) {
      if (kRecord && overwritten != 0) NoteOverwritten(access, last, overwritten, run_begin, address);
      overwritten = 0;
      run_begin = address;
      last = block.write;
      conflict = kCheck && Unordered(access, last);
    }
    if (kCheck) {
      if (access.closure != nullptr) NoteWrite(access, last, block.read, address);
      if (access.needs != nullptr) DemandAll(access, last, block.read);
      if (conflict) access.sink->OnConflict(last, true, address, address + kBlockBytes);
      uint32_t late = 0;
      for (int p = 0; p < kQueueCount; ++p) late |= static_cast<uint32_t>(block.read[p] > access.limit[p]) << p;
      for (; late != 0; late &= late - 1) {
        const int p = __builtin_ctz(late);
        const Tag earlier = MakeTag(static_cast<Queue>(p), block.read[p]);
        if (!Exempt(access, earlier)) access.sink->OnConflict(earlier, false, address, address + kBlockBytes);
      }
    }
    if (kRecord) {
      overwritten += static_cast<uint32_t>(__builtin_popcount(block.init));
      block = Block{access.tag, ~0u, {}};
    }
  }
  if (kRecord && overwritten != 0) NoteOverwritten(access, last, overwritten, run_begin, address);
}

template <ShadowSpace::Op kOp>
void ShadowSpace::Bytes(const ShadowAccess& access, Block& block, uint64_t address, uint32_t lo, uint32_t hi) {
  const int queue = static_cast<int>(TagQueue(access.tag));
  const uint32_t seq = TagSeq(access.tag);
  Detail& detail = Refine(block);
  for (uint32_t i = lo; i < hi; ++i) {
    Byte& byte = detail.bytes[i];
    const uint64_t at = address + i;
    const bool initialised = (block.init >> i) & 1;
    if (kOp == Op::kRead) {
      if (access.closure != nullptr) NotePair(access, byte.write, true, false, at);
      if (access.needs != nullptr) Demand(access, byte.write);
      if (Unordered(access, byte.write)) access.sink->OnConflict(byte.write, true, at, at + 1);
      bool stale = false;
      if (TagSeq(byte.write) != 0) {
        access.log->At(byte.write).was_read = true;
        stale = Stale(access, byte.write, at);
      }
      if (!initialised || stale) access.sink->OnUninitialised(at, at + 1);
      byte.read[queue] = seq;
      continue;
    }
    if (kOp != Op::kWrite) {
      if (access.closure != nullptr) NoteWrite(access, byte.write, byte.read, at);
      if (access.needs != nullptr) DemandAll(access, byte.write, byte.read);
      if (Unordered(access, byte.write)) access.sink->OnConflict(byte.write, true, at, at + 1);
      for (int p = 0; p < kQueueCount; ++p) {
        const Tag earlier = MakeTag(static_cast<Queue>(p), byte.read[p]);
        if (byte.read[p] > access.limit[p] && !Exempt(access, earlier))
          access.sink->OnConflict(earlier, false, at, at + 1);
      }
    }
    if (kOp != Op::kCheckWrite) {
      if (initialised) NoteOverwritten(access, byte.write, 1, at, at + 1);
      byte = Byte{access.tag, {}};
      block.init |= 1u << i;
    }
  }
}

template <ShadowSpace::Op kOp>
void ShadowSpace::Run(const ShadowAccess& access, uint64_t lo, uint64_t hi) {
  while (lo < hi) {
    const uint64_t block_index = lo / kBlockBytes;
    const uint32_t in_page = static_cast<uint32_t>(block_index % page_blocks_);
    Block* page = Page(block_index / page_blocks_);
    const uint64_t base = block_index * kBlockBytes;
    if (lo != base || hi - lo < kBlockBytes) {
      const uint32_t first = static_cast<uint32_t>(lo - base);
      const uint32_t last = static_cast<uint32_t>(std::min<uint64_t>(hi - base, kBlockBytes));
      Bytes<kOp>(access, page[in_page], base, first, last);
      lo = base + last;
      continue;
    }
    const uint64_t count = std::min<uint64_t>((hi - lo) / kBlockBytes, page_blocks_ - in_page);
    switch (kOp) {
      case Op::kRead: ReadBlocks(access, page + in_page, count, lo); break;
      case Op::kCheckWrite: WriteBlocks<true, false>(access, page + in_page, count, lo); break;
      case Op::kWrite: WriteBlocks<false, true>(access, page + in_page, count, lo); break;
      case Op::kCheckedWrite: WriteBlocks<true, true>(access, page + in_page, count, lo); break;
    }
    lo += count * kBlockBytes;
  }
}

void ShadowSpace::Read(const ShadowAccess& access, uint64_t lo, uint64_t hi) { Run<Op::kRead>(access, lo, hi); }

void ShadowSpace::CheckWrite(const ShadowAccess& access, uint64_t lo, uint64_t hi) {
  Run<Op::kCheckWrite>(access, lo, hi);
}

void ShadowSpace::Write(const ShadowAccess& access, uint64_t lo, uint64_t hi, bool check) {
  if (check) {
    Run<Op::kCheckedWrite>(access, lo, hi);
  } else {
    Run<Op::kWrite>(access, lo, hi);
  }
}

void ShadowSpace::MarkInitialised(uint64_t lo, uint64_t hi) {
  for (uint64_t at = lo; at < hi; ++at) {
    Block& block = Page(at / kBlockBytes / page_blocks_)[at / kBlockBytes % page_blocks_];
    block.init |= 1u << (at % kBlockBytes);
  }
}

}  // namespace npu_model

// SPDX-License-Identifier: Apache-2.0
// The five on-chip memories, each taken once; typed views at the offsets of a buffer table.
#ifndef CHUNK_GDR_COMMON_TILE_MEMORY_H_
#define CHUNK_GDR_COMMON_TILE_MEMORY_H_

#include "../plan.h"
#include "kernel_operator.h"

namespace chunk_gdr {

template <typename Table>
class OnChip {
 public:
  __aicore__ inline void Init(AscendC::TPipe& pipe) {
    pipe.InitBuffer(ub_, kUsed<Memory::kUB>);
    pipe.InitBuffer(l1_, kUsed<Memory::kL1>);
    pipe.InitBuffer(l0a_, kUsed<Memory::kL0A>);
    pipe.InitBuffer(l0b_, kUsed<Memory::kL0B>);
    pipe.InitBuffer(l0c_, kUsed<Memory::kL0C>);
  }

  // The whole row `kId` of the table as a tensor of T.
  template <uint32_t kId, typename T>
  __aicore__ inline AscendC::LocalTensor<T> Get() {
    constexpr Memory kMemory = Table::kTable.rows[kId].memory;
    constexpr uint32_t kOffset = Table::kPlace.offset[kId];
    constexpr uint32_t kElems = Bytes(Table::kTable.rows[kId]) / sizeof(T);
    if constexpr (kMemory == Memory::kUB) {
      return ub_.template GetWithOffset<T>(kElems, kOffset);
    } else if constexpr (kMemory == Memory::kL1) {
      return l1_.template GetWithOffset<T>(kElems, kOffset);
    } else if constexpr (kMemory == Memory::kL0A) {
      return l0a_.template GetWithOffset<T>(kElems, kOffset);
    } else if constexpr (kMemory == Memory::kL0B) {
      return l0b_.template GetWithOffset<T>(kElems, kOffset);
    } else {
      return l0c_.template GetWithOffset<T>(kElems, kOffset);
    }
  }

 private:
  template <Memory kMemory>
  static constexpr uint32_t kUsed = Table::kPlace.used[static_cast<uint32_t>(kMemory)];

  AscendC::TBuf<AscendC::TPosition::VECCALC> ub_;
  AscendC::TBuf<AscendC::TPosition::A1> l1_;
  AscendC::TBuf<AscendC::TPosition::A2> l0a_;
  AscendC::TBuf<AscendC::TPosition::B2> l0b_;
  AscendC::TBuf<AscendC::TPosition::CO1> l0c_;
};

template <uint32_t kId, typename T, typename Table>
__aicore__ inline AscendC::LocalTensor<T> Row(OnChip<Table>& chip) {
  return chip.template Get<kId, T>();
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_TILE_MEMORY_H_

// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>

#include "cpu/recurrence.h"

namespace chunk_gdr::cpu {

void RunReference(const GatedDeltaRule& problem) {
  at::parallel_for(0, BandCount(problem), 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      Band<double> band(problem, item);
      band.LoadState();
      for (int64_t chunk = 0; chunk < band.Chunks(); ++chunk) band.RunChunk(chunk);
      band.StoreFinalState();
    }
  });
}

}  // namespace chunk_gdr::cpu

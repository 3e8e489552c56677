// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>

#include "cpu/recurrence.h"

namespace chunk_gdr::cpu {
namespace {

// In float; but keys that are not normalised make the state outgrow it, and then inf - inf would be NaN where the truth
// is a large number. Such a chunk is done again in double, which it alone decides: earlier chunks, and later ones that
// enter with a state that float holds, give the same bits either way.
void RunBand(const GatedDeltaRule& problem, int64_t item) {
  Band<float> band(problem, item);
  Band<double> wide(problem, item);
  bool outgrown = false;  // the state is in `wide` alone
  band.LoadState();
  for (int64_t chunk = 0; chunk < band.Chunks(); ++chunk) {
    if (!outgrown) {
      wide.TakeState(band);
      band.RunChunk(chunk);
      if (band.StateIsFinite()) continue;
    }
    wide.RunChunk(chunk);
    band.TakeState(wide);
    outgrown = !band.StateIsFinite();
  }
  if (outgrown) {
    wide.StoreFinalState();
  } else {
    band.StoreFinalState();
  }
}

}  // namespace

void RunNative(const GatedDeltaRule& problem) {
  at::parallel_for(0, BandCount(problem), 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) RunBand(problem, item);
  });
}

}  // namespace chunk_gdr::cpu

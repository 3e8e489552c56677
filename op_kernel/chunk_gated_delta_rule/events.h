// SPDX-License-Identifier: Apache-2.0
// Event ids, each named by what it promises. Ids count per pair of queues; one is set again only after its last wait has come back to the
// setting queue through other edges, which is why promises that are open at the same time have numbers of their own.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_EVENTS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_EVENTS_H_

#include <cstdint>

namespace chunk_gdr {

enum VToMte3 : int32_t {
  kStateSplit = 0,
  kResidualSplit = 0,
  kKeyRowsReady = 1,
  kVNewSplit = 1,
  kQueryRowsReady = 2,
  kGateSplit = 3,
  kStateOutReady = 3,
  kScoresSplit = 4,
  kConstantsReady = 4,
  kSolveSplit = 5,
  kOutRowsReady = 5,
  kStatusReady = 5,
};

enum Mte3ToV : int32_t {
  kRowsCopied = 0,
  kNormCopied = 1,
  kScoresCopied = 1,
  kStateOutFree = 2,
  kConstantsCopied = 3,
};

enum VToMte2 : int32_t { kStateInFree = 0 };
enum Mte3ToMte2 : int32_t { kRowsLeft = 0 };
enum Mte2ToV : int32_t { kRowsReady = 0, kStateInReady = 1 };

enum Mte3ToMte1 : int32_t { kScoresInL1 = 0, kResidualInL1 = 0, kSolveInL1 = 1, kVNewInL1 = 1, kInverseInL1 = 2 };

enum Mte1ToM : int32_t { kOperandsReady = 0, kOutOperandsReady = 1 };
enum MToV : int32_t { kProductReady = 0 };

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_EVENTS_H_

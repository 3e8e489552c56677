// SPDX-License-Identifier: Apache-2.0
// Event ids, each named by what it promises. Ids count per pair of queues; one is set again only after its last wait has come back to the
// setting queue through other edges. That is why each slice of the inter-chunk lane and every other lane has an id of its own: within one
// of them every promise waits for the one before.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_EVENTS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_EVENTS_H_

#include <cstdint>

namespace chunk_gdr {

// MTE1_M and M_MTE1 are CubeSlots'. Slice 0 or 1 of the inter-chunk lane is id 0 or 1 of each other pair on its way UB -> L1 -> L0 ->
// Mmad -> L0C -> UB.
enum VToMte3 : int32_t {
  kSlotReady = 1,  // chunk-parallel, which has one slice
  kScoresSplit = 2,
  kCombineSplit = 3,
  kRowsReady = 4,
  kOutRowsReady = 5,  // this one and the following are never on their way together
  kStateRowsReady = 5,  // chunk-parallel, of every other piece
  kNanReady = 5,
  kConstantsReady = 5,
  kStatusReady = 5
};
enum Mte3ToMte1 : int32_t { kScoresInL1 = 2, kCombineInL1 = 3, kRowsInL1 = 4 };
enum MToV : int32_t { kOutReady = 2, kScoresProduct = 4, kCombineProduct = 5 };  // kOutReady + slice

enum Mte3ToV : int32_t {
  kStateRowsLeft = 0,
  kConstantsCopied = 2,
  kOutRowsLeft = 3,
  kScoresLeft = 4,
  kStateHalvesLeft = 5  // kNd
};
// Of state rows the next id too, for every other piece.
enum Mte2ToV : int32_t { kKeysArrived = 0, kQueriesArrived = 1, kValuesArrived = 2, kStateRowsArrived = 3 };
enum VToMte2 : int32_t { kStateRowsRead = 0, kGatesRead = 2 };
enum VToS : int32_t { kLargestShiftKnown = 0, kPowersInUb = 1, kDetourKnown = 2 };
enum SToV : int32_t { kLargestShiftRead = 0, kPowersRead = 1, kDetourRead = 2 };
enum Mte1ToV : int32_t { kRowOfTInUb = 0, kOtherHalvesLeft = 1 };
enum Mte3ToMte2 : int32_t { kRows0Left = 0, kRows1Left = 1 };

// Chunk-parallel.
enum VToM : int32_t { kOutPreloaded = 0 };

// Chunk-parallel; each for turn 0, and the next id for turn 1.
enum Mte2ToMte1 : int32_t { kSlotArrived = 0, kFactorsArrived = 2 };
enum Mte1ToMte2 : int32_t { kSlotRead = 0 };
// and of either turn
enum VToMte1 : int32_t { kStagingFree = 0, kFactorsRead = 1 };
enum Mte1ToMte3 : int32_t { kStaged = 0 };

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_EVENTS_H_

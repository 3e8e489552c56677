// SPDX-License-Identifier: Apache-2.0
// Event ids, each named by what it promises. Ids count per pair of queues; one is set again only after its last wait has come back to the
// setting queue through other edges. That is why each slice of the inter-chunk lane and the intra-chunk lane have an id of their own:
// within one of them every promise waits for the one before.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_EVENTS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_EVENTS_H_

#include <cstdint>

namespace chunk_gdr {

// Slice 0 or 1 of the inter-chunk lane is id 0 or 1 of each pair on its way UB -> L1 -> L0 -> Mmad -> L0C -> UB.
enum VToMte3 : int32_t {
  kIntraSplit = 2,
  kRowsReady = 3,
  kOutRowsReady = 4,
  kStateRowsReady = 5,  // this one and the following are never on their way together
  kGatesMasked = 5,
  kConstantsReady = 5,
  kStatusReady = 5
};
enum Mte3ToMte1 : int32_t { kIntraInL1 = 2, kKeysInL1 = 3, kGatesInL1 = 4 };
enum MToV : int32_t { kQueryStateReady = 2, kIntraProduct = 4 };  // kQueryStateReady + slice

enum Mte3ToV : int32_t { kStateRowsLeft = 0, kConstantsCopied = 2 };
enum Mte2ToV : int32_t { kKeysArrived = 0, kQueriesArrived = 1, kValuesArrived = 2, kStateRowsArrived = 3 };
enum VToMte2 : int32_t { kStateRowsRead = 0 };
enum Mte3ToMte2 : int32_t { kRows0Left = 0, kRows1Left = 1 };

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_EVENTS_H_

// Makes requests of simple clients fit the rules that PsClient keeps: sorted, distinct keys.
#ifndef SYNCLINE_SERVER_SERVICE_SIMPLE_REQUESTS_H_
#define SYNCLINE_SERVER_SERVICE_SIMPLE_REQUESTS_H_

#include <memory>

#include "absl/status/statusor.h"

#include "common/wire/frames.h"
#include "server/executor/slot_host.h"

namespace syncline {

// The push with the keys of each part ascending (S5). Rows of equal keys are added in the order in
// which they came, in fp32; the result is then encoded as fp32, whatever came. Lists of bags of
// equal keys are put one after the other. Returns `push` itself when nothing is to be done. Memory:
// at most the decoded values (twice a frame of fp16).
// Errors: INVALID_ARGUMENT (unknown codec, undecodable values), NOT_FOUND (UNKNOWN_TABLE).
absl::StatusOr<std::shared_ptr<const PushFrame>> SortAndSum(std::shared_ptr<const PushFrame> push,
                                                            const SlotHost& host);

// The same for a pull of bags (B1); a pull of rows may name keys in any order as it is.
absl::StatusOr<std::shared_ptr<const PullFrame>> SortBags(std::shared_ptr<const PullFrame> pull);

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_SIMPLE_REQUESTS_H_

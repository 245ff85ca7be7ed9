// What became of an operation in one slot. Twin of Outcome in proto/parameter_server.proto.
#ifndef SYNCLINE_COMMON_WIRE_OUTCOME_H_
#define SYNCLINE_COMMON_WIRE_OUTCOME_H_

#include <cstdint>

namespace syncline {

enum class Outcome : uint8_t {
  kUnspecified = 0,
  // Final: uses up the number, is kept, and is the answer to every retry (S3).
  kOk = 1,
  kInvalid = 2,
  kDropped = 3,
  kLate = 4,
  kCancelled = 5,
  // The number stays free; the client retries the same operation.
  kRetryResourceExhausted = 16,
  kRetryUnavailable = 17,
  kRetryWrongOwner = 18,
  kRetryOutOfOrder = 19,
  kRetryNotReady = 20,
  kRetryResumeFirst = 21,
  // The session is over in this slot, or its number can no longer be answered.
  kGoneSessionUnknown = 32,
  kGoneFenced = 33,
  kGoneSessionLost = 34,
  kGoneAlreadyDecided = 35,
  kGoneJobFailed = 36,
};

constexpr bool IsFinal(Outcome o) {
  return o >= Outcome::kOk && o < Outcome::kRetryResourceExhausted;
}
constexpr bool IsRetry(Outcome o) {
  return o >= Outcome::kRetryResourceExhausted && o < Outcome::kGoneSessionUnknown;
}
constexpr bool IsGone(Outcome o) { return o >= Outcome::kGoneSessionUnknown; }

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_OUTCOME_H_

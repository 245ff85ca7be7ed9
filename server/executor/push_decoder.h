// Turns the values of a push into one gradient a key.
#ifndef SYNCLINE_SERVER_EXECUTOR_PUSH_DECODER_H_
#define SYNCLINE_SERVER_EXECUTOR_PUSH_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace syncline {

struct PushOperation;

// Decodes pushes of rows (a vector a key) and of bags (B1: a key's gradient is the sum of the bag
// vectors that its list names, added in list order). Keeps its scratch between calls.
class GradientDecoder {
 public:
  // Fills `gradients` with push.keys.size() x dim floats. Sizes are judged before memory is taken.
  //
  // Errors, INVALID_ARGUMENT: an unknown codec, a size that does not fit keys and dim, offsets that
  // do not ascend from zero to the number of bag ids, a bag id out of range, bytes that are no
  // encoding, or more than kMaxExpandedPushBytes of gradients. `gradients` is then unspecified.
  absl::Status Decode(const PushOperation& push, size_t dim, std::vector<float>& gradients);

 private:
  absl::Status DecodeRows(const PushOperation& push, size_t dim, std::vector<float>& gradients);
  absl::Status DecodeBags(const PushOperation& push, size_t dim, std::vector<float>& gradients);
  static absl::Status CheckBags(const PushOperation& push, size_t dim);

  std::vector<uint8_t> bytes_;
  std::vector<float> vector_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_EXECUTOR_PUSH_DECODER_H_

// The checks of a decoded bulk frame that need nothing but the frame (listed in frame_codec.h).
#ifndef SYNCLINE_COMMON_WIRE_FRAME_CHECK_H_
#define SYNCLINE_COMMON_WIRE_FRAME_CHECK_H_

#include "absl/status/status.h"

#include "common/wire/frames.h"

namespace syncline {

// Errors: INVALID_ARGUMENT, with slot and numbers in the text.
absl::Status CheckFrame(const PushFrame& push);
absl::Status CheckFrame(const PullFrame& pull);

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_FRAME_CHECK_H_

// The three bulk kinds with one set of names each, for typed tests.
#ifndef SYNCLINE_TESTS_COMMON_WIRE_BULK_KINDS_H_
#define SYNCLINE_TESTS_COMMON_WIRE_BULK_KINDS_H_

#include <span>

#include "gtest/gtest.h"

#include "tests/common/wire/random_frames.h"

namespace syncline {

struct PushKind {
  using Proto = v1::PushRequest;
  static constexpr FrameBody kBody = FrameBody::kPush;
  static constexpr const char* kName = "push";
  static Proto Random(RandomFrames& r) { return r.Push(); }
  static Proto& Body(v1::Frame& frame) { return *frame.mutable_push(); }
  static auto DecodeFrame(std::span<const ByteSpan> p) { return DecodePushFrame(p); }
  static auto DecodeMessage(std::span<const ByteSpan> p) { return DecodePushMessage(p); }
};

struct PullKind {
  using Proto = v1::PullRequest;
  static constexpr FrameBody kBody = FrameBody::kPull;
  static constexpr const char* kName = "pull";
  static Proto Random(RandomFrames& r) { return r.Pull(); }
  static Proto& Body(v1::Frame& frame) { return *frame.mutable_pull(); }
  static auto DecodeFrame(std::span<const ByteSpan> p) { return DecodePullFrame(p); }
  static auto DecodeMessage(std::span<const ByteSpan> p) { return DecodePullMessage(p); }
};

struct PullReplyKind {
  using Proto = v1::PullReply;
  static constexpr FrameBody kBody = FrameBody::kPullReply;
  static constexpr const char* kName = "pull_reply";
  static Proto Random(RandomFrames& r) { return r.Reply(); }
  static Proto& Body(v1::Frame& frame) { return *frame.mutable_pull_reply(); }
  static auto DecodeFrame(std::span<const ByteSpan> p) { return DecodePullReplyFrame(p); }
  static auto DecodeMessage(std::span<const ByteSpan> p) { return DecodePullReplyMessage(p); }
};

using BulkKinds = ::testing::Types<PushKind, PullKind, PullReplyKind>;

}  // namespace syncline

#endif  // SYNCLINE_TESTS_COMMON_WIRE_BULK_KINDS_H_

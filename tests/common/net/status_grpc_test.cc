#include "common/net/status_grpc.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "common/net/malloc_tuning.h"
#include "proto/parameter_server.pb.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

TEST(StatusGrpcTest, CodesTextAndDetailRoundTrip) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status =
        MakeStatus(static_cast<absl::StatusCode>(code), Detail::kFenced, "session 7 is fenced");
    EXPECT_EQ(ToGrpc(status).error_code(), code);
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status) << code;
  }
  EXPECT_OK(FromGrpc(ToGrpc(absl::OkStatus())));
}

TEST(StatusGrpcTest, AddsTheContextOnce) {
  const absl::Status status = MakeStatus(absl::StatusCode::kNotFound, Detail::kUnknownTable, "no");
  const absl::Status seen = FromGrpc(ToGrpc(status), "h:1 Pull");
  EXPECT_THAT(seen, StatusIs(absl::StatusCode::kNotFound, ::testing::StrEq("h:1 Pull: no")));
  EXPECT_THAT(seen, HasDetail(Detail::kUnknownTable));
}

TEST(StatusGrpcTest, NeverIsWithoutAText) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status seen = FromGrpc({static_cast<grpc::StatusCode>(code), ""}, "h:1 GetMap");
    EXPECT_GT(MessageOf(seen).size(), std::string_view("h:1 GetMap: ").size()) << code;
  }
  EXPECT_THAT(FromGrpc({grpc::StatusCode::UNIMPLEMENTED, ""}),
              StatusIs(absl::StatusCode::kUnimplemented, ::testing::HasSubstr("coordinator")));
}

TEST(StatusGrpcTest, IgnoresDetailsOfSomeoneElsesMaking) {
  for (const std::string& details : {std::string("\xff\xff"), std::string("\x08\x05\x10\x02")}) {
    const grpc::Status status(grpc::StatusCode::UNAVAILABLE, "proxy", details);
    EXPECT_THAT(FromGrpc(status), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_THAT(FromGrpc(status), HasDetail(Detail::kNone));
  }
}

TEST(StatusGrpcTest, StaysWithinWhatTrailersMayHold) {
  // Each of these bytes takes three in grpc-message.
  const std::string text(10'000, '\xff');
  const grpc::Status status =
      ToGrpc(MakeStatus(absl::StatusCode::kInternal, Detail::kNonFinite, text));
  EXPECT_LE(3 * status.error_message().size() + 2 * status.error_details().size() + 1'024, 8'192u);
  v1::ErrorInfo error;
  ASSERT_TRUE(error.ParseFromString(status.error_details()));
  EXPECT_EQ(error.detail(), v1::NON_FINITE);
}

TEST(MallocTuningTest, IsAcceptedByThisLibrary) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
  EXPECT_TRUE(TuneMalloc());
#endif
}

}  // namespace
}  // namespace syncline

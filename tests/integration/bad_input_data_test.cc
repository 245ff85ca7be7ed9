// Unary calls of the data plane.
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "tests/integration/raw_server.h"

namespace syncline {
namespace {

template <typename Request>
using Change = std::function<void(Request&)>;

std::string Key(uint64_t key) { return {reinterpret_cast<const char*>(&key), sizeof(key)}; }

BadCase Pull(std::string name, Change<v1::PullRequest> change, std::string expected) {
  return {std::move(name),
          [change](RawServer& server) {
            v1::PullRequest request = server.Pull();
            change(request);
            v1::PullReply reply;
            const grpc::Status status = server.data->Pull(Patience().get(), request, &reply);
            if (!status.ok()) return Verdict(status);
            return reply.has_error() ? Verdict(reply.error()) : "OK";
          },
          std::move(expected)};
}

BadCase Push(std::string name, Change<v1::PushRequest> change, std::string expected) {
  return {std::move(name),
          [change](RawServer& server) {
            v1::PushRequest request = server.Push();
            change(request);
            v1::PushReply reply;
            const grpc::Status status = server.data->Push(Patience().get(), request, &reply);
            return status.ok() ? OutcomesOf(reply) : Verdict(status);
          },
          std::move(expected)};
}

BadCase Tick(std::string name, Change<v1::TickRequest> change, std::string expected) {
  return {std::move(name),
          [change](RawServer& server) {
            v1::TickRequest request = server.Tick();
            change(request);
            v1::TickReply reply;
            const grpc::Status status = server.data->Tick(Patience().get(), request, &reply);
            return status.ok() ? OutcomesOf(reply) : Verdict(status);
          },
          std::move(expected)};
}

BadCase Leave(std::string name, Change<v1::LeaveRequest> change, std::string expected) {
  return {std::move(name),
          [change](RawServer& server) {
            v1::LeaveRequest request = server.Leave();
            change(request);
            v1::LeaveReply reply;
            const grpc::Status status = server.data->Leave(Patience().get(), request, &reply);
            return status.ok() ? OutcomesOf(reply) : Verdict(status);
          },
          std::move(expected)};
}

TEST(BadInputUnary, Pull) {
  Judge({
      Pull(
          "nothing is wrong", [](auto&) {}, "OK"),
      Pull(
          "a session nobody opened", [](auto& r) { r.mutable_header()->set_session_low(1); },
          "NOT_FOUND/SESSION_UNKNOWN"),
      Pull(
          "no header", [](auto& r) { r.clear_header(); }, "NOT_FOUND/SESSION_UNKNOWN"),
      Pull(
          "an older token", [](auto& r) { r.mutable_header()->set_token(r.header().token() - 1); },
          "NOT_FOUND/FENCED"),
      Pull(
          "a table that is not there", [](auto& r) { r.set_table(4'000'000'000); },
          "NOT_FOUND/UNKNOWN_TABLE"),
      Pull(
          "a codec that is not there", [](auto& r) { r.set_codec(99); },
          "INVALID_ARGUMENT/UNSUPPORTED"),
      Pull(
          "half a key", [](auto& r) { r.mutable_parts(0)->mutable_keys()->resize(4); },
          "INVALID_ARGUMENT"),
      Pull(
          "a key of another slot",
          [](auto& r) {
            r.mutable_parts(0)->set_slot((r.parts(0).slot() + 1) % 64);
            r.mutable_parts(0)->set_sequence(0);
          },
          "INVALID_ARGUMENT"),
      Pull(
          "a slot beyond all", [](auto& r) { r.mutable_parts(0)->set_slot(UINT32_MAX); },
          "FAILED_PRECONDITION/WRONG_OWNER"),
      Pull(
          "another incarnation", [](auto& r) { r.mutable_parts(0)->set_incarnation(77); },
          "FAILED_PRECONDITION/RESUME_FIRST"),
      Pull(
          "a key beyond the vocabulary", [](auto& r) { r.mutable_parts(0)->set_keys(Key(~0ull)); },
          "INVALID_ARGUMENT"),
      Pull(
          "an operation that never comes", [](auto& r) { r.mutable_parts(0)->set_sequence(9); },
          "UNAVAILABLE"),
      Pull(
          "a clock far ahead", [](auto& r) { r.mutable_header()->set_clock(1'000'000); },
          "UNAVAILABLE"),
      Pull(
          "bag offsets without bags",
          [](auto& r) { r.mutable_parts(0)->set_bag_offsets(std::string(8, '\0')); },
          "INVALID_ARGUMENT"),
      Pull(
          "more bags than a frame may have", [](auto& r) { r.set_bag_count(UINT32_MAX); },
          "INVALID_ARGUMENT"),
      Pull(
          "a bag id beyond the bags",
          [](auto& r) {
            r.set_bag_count(1);
            r.mutable_parts(0)->set_bag_offsets(std::string("\0\0\0\0\1\0\0\0", 8));
            r.mutable_parts(0)->set_bag_ids(std::string("\7\0\0\0", 4));
          },
          "INVALID_ARGUMENT"),
  });
}

// The number that the slot of RawServer's pushes takes next.
uint64_t NextSequence(RawServer& server) {
  v1::PushRequest request = server.Push();
  request.mutable_parts(0)->set_sequence(UINT64_MAX);
  v1::PushReply reply;
  server.data->Push(Patience().get(), request, &reply);
  return reply.parts_size() == 1 ? reply.parts(0).expected() : 0;
}

TEST(BadInputUnary, Push) {
  Judge({
      Push(
          "a session nobody opened", [](auto& r) { r.mutable_header()->set_session_high(1); },
          "GONE_SESSION_UNKNOWN/SESSION_UNKNOWN"),
      Push(
          "an older token", [](auto& r) { r.mutable_header()->set_token(r.header().token() - 1); },
          "GONE_FENCED/FENCED"),
      Push(
          "a gap in the sequence", [](auto& r) { r.mutable_parts(0)->set_sequence(9); },
          "RETRY_OUT_OF_ORDER/OUT_OF_ORDER"),
      Push(
          "the greatest sequence", [](auto& r) { r.mutable_parts(0)->set_sequence(UINT64_MAX); },
          "RETRY_OUT_OF_ORDER/OUT_OF_ORDER"),
      Push(
          "a number used already", [](auto& r) { r.mutable_parts(0)->set_sequence(1); }, "OK"),
      Push(
          "another incarnation", [](auto& r) { r.mutable_parts(0)->set_incarnation(77); },
          "RETRY_RESUME_FIRST/RESUME_FIRST"),
      Push(
          "a slot beyond all", [](auto& r) { r.mutable_parts(0)->set_slot(UINT32_MAX); },
          "RETRY_WRONG_OWNER/WRONG_OWNER"),
      Push(
          "half a key", [](auto& r) { r.mutable_parts(0)->mutable_keys()->resize(7); },
          "INVALID_ARGUMENT"),
      Push(
          "values without keys", [](auto& r) { r.mutable_parts(0)->clear_keys(); },
          "INVALID_ARGUMENT"),
      Push(
          "values not divisible by the keys",
          [](auto& r) {
            r.mutable_parts(0)->mutable_keys()->append(Key(6));
            r.mutable_parts(0)->mutable_values()->pop_back();
          },
          "INVALID_ARGUMENT"),
      Push(
          "bag values without bags", [](auto& r) { r.set_bag_values("1234"); }, "INVALID_ARGUMENT"),
      Push(
          "a placeholder with content",
          [](auto& r) { r.mutable_parts(0)->set_placeholder(v1::OK); }, "INVALID_ARGUMENT"),
      Push(
          "a placeholder that is not final",
          [](auto& r) {
            r.mutable_parts(0)->clear_keys();
            r.mutable_parts(0)->clear_values();
            r.mutable_parts(0)->set_placeholder(v1::RETRY_NOT_READY);
          },
          "INVALID_ARGUMENT"),
  });
}

// Each uses up a number (S3).
TEST(BadInputUnary, PushesThatASlotRefusesForGood) {
  uint64_t sequence = NextSequence(TheServer());
  const auto next = [&sequence](Change<v1::PushRequest> change) {
    return [change, n = sequence++](v1::PushRequest& r) {
      change(r);
      r.mutable_parts(0)->set_sequence(n);
    };
  };
  const auto value = [](float first) {
    return [first](v1::PushRequest& r) {
      std::string* values = r.mutable_parts(0)->mutable_values();
      values->replace(0, sizeof(first), reinterpret_cast<const char*>(&first), sizeof(first));
    };
  };
  Judge({
      Push("a gradient that is no number", next(value(std::numeric_limits<float>::quiet_NaN())),
           "INVALID/NON_FINITE"),
      Push("an infinite gradient", next(value(std::numeric_limits<float>::infinity())),
           "INVALID/NON_FINITE"),
      Push("a table that is not there", next([](auto& r) { r.set_table(4'000'000'000); }),
           "INVALID/UNKNOWN_TABLE"),
      Push("a codec that is not there", next([](auto& r) { r.set_codec(99); }),
           "INVALID/UNSUPPORTED"),
      Push("rows of another dim",
           next([](auto& r) { r.mutable_parts(0)->mutable_values()->resize(12); }), "INVALID"),
      Push("a key of another slot", next([](auto& r) { r.mutable_parts(0)->set_keys(Key(6)); }),
           "INVALID"),
      Push("a key beyond the vocabulary",
           next([](auto& r) { r.mutable_parts(0)->set_keys(Key(~0ull)); }), "INVALID/ID_REJECTED"),
  });
}

TEST(BadInputUnary, Tick) {
  Judge({
      Tick(
          "a session nobody opened", [](auto& r) { r.mutable_header()->set_session_low(1); },
          "GONE_SESSION_UNKNOWN/SESSION_UNKNOWN"),
      Tick(
          "an older token", [](auto& r) { r.mutable_header()->set_token(r.header().token() - 1); },
          "GONE_FENCED/FENCED"),
      Tick(
          "lists of different lengths", [](auto& r) { r.add_sequences(3); }, "INVALID_ARGUMENT"),
      Tick(
          "a told outcome that is not final", [](auto& r) { r.add_told(v1::RETRY_NOT_READY); },
          "INVALID_ARGUMENT"),
      Tick(
          "a gap in the sequence", [](auto& r) { r.set_sequences(0, 40); },
          "RETRY_OUT_OF_ORDER/OUT_OF_ORDER"),
      Tick(
          "another incarnation", [](auto& r) { r.set_incarnations(0, 77); },
          "RETRY_RESUME_FIRST/RESUME_FIRST"),
  });
}

TEST(BadInputUnary, Leave) {
  Judge({
      Leave(
          "a session nobody opened", [](auto& r) { r.mutable_header()->set_session_low(1); },
          "GONE_SESSION_UNKNOWN/SESSION_UNKNOWN"),
      Leave(
          "an older token", [](auto& r) { r.mutable_header()->set_token(r.header().token() - 1); },
          "GONE_FENCED/FENCED"),
      Leave(
          "lists of different lengths", [](auto& r) { r.clear_sequences(); }, "INVALID_ARGUMENT"),
      Leave(
          "a gap in the sequence", [](auto& r) { r.set_sequences(0, 40); },
          "RETRY_OUT_OF_ORDER/OUT_OF_ORDER"),
  });
}

}  // namespace
}  // namespace syncline

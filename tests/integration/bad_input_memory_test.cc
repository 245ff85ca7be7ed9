// Input that claims much: what it costs a server's memory (VmHWM of a real process).
#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"

#include "tests/integration/raw_server.h"

namespace syncline {
namespace {

constexpr uint64_t kGrowthAtMost = uint64_t{128} << 20;
constexpr size_t kHugeMegabytes = 512;

const char* const kMethods[] = {
    "/syncline.v1.ParameterServer/Pull",    "/syncline.v1.ParameterServer/Push",
    "/syncline.v1.ParameterServer/Tick",    "/syncline.v1.Coordinator/CreateTable",
    "/syncline.v1.Coordinator/OpenSession", "/syncline.v1.Admin/GetRow",
    "/syncline.v1.ServerControl/Execute",
};

// What the server's peak grows by while `act` runs.
template <typename Act>
uint64_t Growth(RawServer& server, const Act& act) {
  const uint64_t hash = server.StateHash();
  const uint64_t before = server.process().PeakResidentBytes();
  act();
  EXPECT_TRUE(server.process().running());
  EXPECT_EQ(server.StateHash(), hash);
  const uint64_t growth = server.process().PeakResidentBytes() - before;
  fmt::print("the peak grew by {} MiB from {} MiB\n", growth >> 20, before >> 20);
  return growth;
}

std::string SendStream(RawServer& server, size_t megabytes, grpc_compression_algorithm how) {
  RawStream stream(server, how);
  if (how == GRPC_COMPRESS_NONE && !stream.SayHello()) return "no hello";
  stream.Write(Megabytes(megabytes));
  return stream.Answer();
}

// gRPC makes room while it reads on, so that peaks differ from run to run: five fresh servers, and
// every one is judged.
TEST(BadInputMemory, HalfAGigabyteIsRefusedByItsDeclaredSize) {
  std::vector<uint64_t> growths;
  for (int i = 0; i < 5; ++i) {
    RawServer server;
    growths.push_back(Growth(server, [&] {
      EXPECT_EQ(Verdict(CallRaw(server, kMethods[1], Megabytes(kHugeMegabytes))),
                "RESOURCE_EXHAUSTED");
    }));
  }
  for (const uint64_t growth : growths) EXPECT_LT(growth, kGrowthAtMost);
}

TEST(BadInputMemory, EveryCallRefusesHalfAGigabyte) {
  RawServer& server = TheServer();
  for (const char* method : kMethods) {
    EXPECT_EQ(Verdict(CallRaw(server, method, Megabytes(kHugeMegabytes))), "RESOURCE_EXHAUSTED")
        << method;
  }
  EXPECT_EQ(SendStream(server, kHugeMegabytes, GRPC_COMPRESS_NONE), "stream: RESOURCE_EXHAUSTED");
  EXPECT_TRUE(server.process().running());
}

TEST(BadInputMemory, CompressedMessagesAreRefusedUnread) {
  RawServer server;
  const uint64_t growth = Growth(server, [&] {
    for (const char* method : kMethods) {
      const size_t size = method == kMethods[1] ? kHugeMegabytes : 64;
      EXPECT_EQ(Verdict(CallRaw(server, method, Megabytes(size), GRPC_COMPRESS_GZIP)),
                "UNIMPLEMENTED")
          << method;
    }
    EXPECT_EQ(SendStream(server, 64, GRPC_COMPRESS_GZIP), "stream: UNIMPLEMENTED");
  });
  EXPECT_LT(growth, kGrowthAtMost);
}

// A kilobyte that says it holds 2^31 keys, bags or slots.
TEST(BadInputMemory, ClaimedCountsAreNotBelieved) {
  RawServer server;
  // Field 4 (keys) of a part, claiming 2^34 bytes; the part and the request claim as much.
  const std::string claim = std::string("\x80\x80\x80\x80\x40", 5);
  const std::string keys = "\x22" + claim + std::string(1'000, 'k');
  const std::string push = "\x2a" + claim + keys;                       // PushRequest.parts = 5
  const std::string pull = "\x32" + claim + keys;                       // PullRequest.parts = 6
  const std::string ticks = "\x32" + claim + std::string(1'000, '\1');  // TickRequest.slots = 6
  const uint64_t growth = Growth(server, [&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(Verdict(CallRaw(server, kMethods[0], BytesOf(pull))), "DATA_LOSS");
      EXPECT_EQ(Verdict(CallRaw(server, kMethods[1], BytesOf(push))), "DATA_LOSS");
      EXPECT_FALSE(CallRaw(server, kMethods[2], BytesOf(ticks)).ok());
      v1::PushRequest bags = server.Push();
      bags.set_bag_count(uint32_t{1} << 31);
      v1::PushReply reply;
      EXPECT_EQ(Verdict(server.data->Push(Patience().get(), bags, &reply)), "INVALID_ARGUMENT");
    }
  });
  EXPECT_LT(growth, kGrowthAtMost);
}

// Every call with bytes that are no message: an error, and the server goes on.
TEST(BadInputMemory, GarbageIsAnErrorOfEveryCall) {
  RawServer& server = TheServer();
  const uint64_t hash = server.StateHash();
  int methods = 0;
  for (const char* name : {"syncline.v1.ParameterServer", "syncline.v1.Coordinator",
                           "syncline.v1.Admin", "syncline.v1.ServerControl"}) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    ASSERT_NE(service, nullptr);
    for (int i = 0; i < service->method_count(); ++i) {
      if (service->method(i)->client_streaming()) continue;
      const std::string method =
          "/" + std::string(name) + "/" + std::string(service->method(i)->name());
      const grpc::Status status = CallRaw(server, method, BytesOf(std::string(64, '\xff')));
      EXPECT_FALSE(status.ok()) << method;
      EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << method;
      ++methods;
    }
  }
  EXPECT_GE(methods, 25);
  EXPECT_TRUE(server.process().running());
  EXPECT_EQ(server.StateHash(), hash);
}

}  // namespace
}  // namespace syncline

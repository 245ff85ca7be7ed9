#include "tests/support/tcp_proxy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "gtest/gtest.h"

#include "common/status/status.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;

// A blocking socket on loopback; every call gives up after two seconds.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {
    const timeval two{.tv_sec = 2, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &two, sizeof(two));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &two, sizeof(two));
  }
  static Socket Connect(const std::string& endpoint) {
    Socket s(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(endpoint.substr(10))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(s.fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return s;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  void Send(std::string_view text) {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // What arrives, up to `n` bytes; "EOF", "RESET" or "TIMEOUT" when it ends before.
  std::string Receive(size_t n) {
    std::string got;
    std::array<char, 65'536> buffer;
    while (got.size() < n) {
      const ssize_t r = recv(fd_, buffer.data(), std::min(buffer.size(), n - got.size()), 0);
      if (r == 0) return "EOF";
      if (r < 0) return errno == ECONNRESET ? "RESET" : "TIMEOUT";
      got.append(buffer.data(), static_cast<size_t>(r));
    }
    return got;
  }
  // Whether anything arrives within the time.
  bool Hears(milliseconds time) {
    pollfd p{fd_, POLLIN, 0};
    return poll(&p, 1, static_cast<int>(time.count())) == 1;
  }
  void EndSending() { shutdown(fd_, SHUT_WR); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

class TcpProxyTest : public ::testing::Test {
 protected:
  TcpProxyTest() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    SYNCLINE_CHECK(bind(listener_.fd(), generic, size) == 0 && listen(listener_.fd(), 64) == 0 &&
                       getsockname(listener_.fd(), generic, &size) == 0,
                   "cannot listen");
    target_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  Socket Accept() { return Socket(accept(listener_.fd(), nullptr, nullptr)); }
  milliseconds Since(MonotonicTime start) {
    return std::chrono::duration_cast<milliseconds>(time_.Now() - start);
  }

  Socket listener_;
  std::string target_;
  SystemTimeSource time_;
};

TEST_F(TcpProxyTest, CarriesBytesAndEndsBothWays) {
  TcpProxy proxy({.target = target_});
  Socket client = Socket::Connect(proxy.endpoint());
  Socket server = Accept();
  client.Send("ping");
  EXPECT_EQ(server.Receive(4), "ping");
  client.EndSending();
  EXPECT_EQ(server.Receive(1), "EOF");
  server.Send("pong");  // the other half still works
  EXPECT_EQ(client.Receive(4), "pong");
  server.EndSending();
  EXPECT_EQ(client.Receive(1), "EOF");
}

TEST_F(TcpProxyTest, CarriesMegabytesWithoutHoldingThem) {
  TcpProxy proxy({.target = target_});
  Socket client = Socket::Connect(proxy.endpoint());
  Socket server = Accept();
  std::string sent(8 << 20, 'x');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 >> 3);
  std::thread sender([&] { client.Send(sent); });
  EXPECT_EQ(server.Receive(sent.size()) == sent, true);
  sender.join();
  EXPECT_EQ(proxy.counts().bytes_up, sent.size());
}

TEST_F(TcpProxyTest, ADelayHoldsBytesThatLong) {
  TcpProxy proxy({.target = target_});
  proxy.Shape(Way::kUp, {.delay = milliseconds(60)});
  Socket client = Socket::Connect(proxy.endpoint());
  Socket server = Accept();
  const MonotonicTime start = time_.Now();
  client.Send("late");
  EXPECT_EQ(server.Receive(4), "late");
  EXPECT_GE(Since(start), milliseconds(60));
  server.Send("soon");  // the other way is not delayed
  const MonotonicTime back = time_.Now();
  EXPECT_EQ(client.Receive(4), "soon");
  EXPECT_LT(Since(back), milliseconds(60));
}

TEST_F(TcpProxyTest, ARateLimitsAWay) {
  TcpProxy proxy({.target = target_});
  proxy.Shape(Way::kDown, {.bytes_per_second = 200'000});
  Socket client = Socket::Connect(proxy.endpoint());
  Socket server = Accept();
  const MonotonicTime start = time_.Now();
  server.Send(std::string(40'000, 'r'));
  EXPECT_EQ(client.Receive(40'000).size(), 40'000u);
  EXPECT_GE(Since(start), milliseconds(170));
  EXPECT_LT(Since(start), milliseconds(1'500));
}

TEST_F(TcpProxyTest, ACutEndsAndAResetResetsBothSides) {
  TcpProxy proxy({.target = target_});
  for (const Cut cut : {Cut::kClose, Cut::kReset}) {
    Socket client = Socket::Connect(proxy.endpoint());
    Socket server = Accept();
    client.Send("x");
    EXPECT_EQ(server.Receive(1), "x");
    EXPECT_TRUE(proxy.CutOne(cut));
    const char* expected = cut == Cut::kClose ? "EOF" : "RESET";
    EXPECT_EQ(client.Receive(1), expected);
    EXPECT_EQ(server.Receive(1), expected);
  }
  EXPECT_FALSE(proxy.CutOne(Cut::kClose)) << "nothing is left to cut";
  EXPECT_EQ(proxy.counts().cut, 1u);
  EXPECT_EQ(proxy.counts().reset, 1u);
}

TEST_F(TcpProxyTest, SilenceIsOneWayAndLosesNothing) {
  TcpProxy proxy({.target = target_});
  Socket client = Socket::Connect(proxy.endpoint());
  Socket server = Accept();
  proxy.Silence(Way::kDown, true);
  client.Send("up");
  EXPECT_EQ(server.Receive(2), "up");
  server.Send("down");
  EXPECT_FALSE(client.Hears(milliseconds(80)));
  proxy.Silence(Way::kDown, false);
  EXPECT_EQ(client.Receive(4), "down");
}

TEST_F(TcpProxyTest, ATargetThatIsNotThereResetsTheClient) {
  TcpProxy proxy({});
  EXPECT_EQ(Socket::Connect(proxy.endpoint()).Receive(1), "RESET");
  proxy.SetTarget("127.0.0.1:1");
  EXPECT_EQ(Socket::Connect(proxy.endpoint()).Receive(1), "RESET");
  proxy.SetTarget(target_);
  Socket client = Socket::Connect(proxy.endpoint());
  Socket server = Accept();
  client.Send("x");
  EXPECT_EQ(server.Receive(1), "x");
}

TEST_F(TcpProxyTest, TheFateOfConnectionsFollowsFromTheSeed) {
  const uint64_t seed = TestSeed(11);
  SCOPED_TRACE(SeedTrace(seed));
  const TcpPlan plan{.cut_probability = 0.3,
                     .reset_probability = 0.3,
                     .silence_probability = 0.2,
                     .bytes_before = 64};
  std::string fates[2];
  for (std::string& fate : fates) {
    TcpProxy proxy({.target = target_, .seed = seed, .plan = plan});
    for (int i = 0; i < 20; ++i) {
      Socket client = Socket::Connect(proxy.endpoint());
      Socket server = Accept();
      client.Send(std::string(128, 'f'));
      fate += server.Hears(milliseconds(500)) ? '+' : '-';
      const auto settled = [&] { return proxy.counts().bytes_up >= 128u * (i + 1); };
      for (int tries = 0; tries < 200 && !settled(); ++tries) usleep(1'000);
      const TcpProxyCounts c = proxy.counts();
      fate += std::to_string(c.cut) + "," + std::to_string(c.reset) + "," +
              std::to_string(c.silenced) + " ";
    }
  }
  EXPECT_EQ(fates[0], fates[1]);
  EXPECT_NE(fates[0].find(','), std::string::npos);
}

}  // namespace
}  // namespace syncline

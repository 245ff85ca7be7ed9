// A userspace TCP proxy on loopback that does to connections what networks do: delay, limited
// rate, cuts, resets and one-way silence. Needs no privileges; kernels without netem will do.
//
//   TcpProxy proxy({.target = "127.0.0.1:7070", .seed = seed});
//   connect to proxy.endpoint(), then
//   proxy.Shape(Way::kDown, {.delay = 20ms});
//   proxy.CutOne(Cut::kReset);
#ifndef SYNCLINE_TESTS_SUPPORT_TCP_PROXY_H_
#define SYNCLINE_TESTS_SUPPORT_TCP_PROXY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "common/thread/mutex.h"
#include "common/thread/thread.h"
#include "common/time_source.h"
#include "tests/support/tcp_link.h"

namespace syncline {

// What may befall each new connection by itself. The fate of the n-th connection is a function of
// (seed, n) alone, whatever its peers do.
struct TcpPlan {
  // Of a connection, at most one of the three; they must not add up to more than 1.
  double cut_probability = 0;
  double reset_probability = 0;
  double silence_probability = 0;  // one way, drawn too, until the connection ends
  // It happens after so many bytes (both ways together), uniform below this. At least 1.
  uint64_t bytes_before = uint64_t{1} << 20;
};

struct TcpProxyOptions {
  std::string target = "";  // "127.0.0.1:port"; may be given later by SetTarget
  uint64_t seed = 1;
  TcpPlan plan = {};
};

struct TcpProxyCounts {
  uint64_t accepted = 0;
  uint64_t cut = 0;       // by plan or by call, orderly
  uint64_t reset = 0;     // by plan or by call, RST
  uint64_t silenced = 0;  // by plan
  uint64_t bytes_up = 0;  // delivered
  uint64_t bytes_down = 0;
};

// Thread-safe. One thread of its own; every connection holds at most 2 x kLinkBufferBytes.
class TcpProxy {
 public:
  // Listens at once, on a port that the system chooses. Panics when it cannot (tests only).
  explicit TcpProxy(const TcpProxyOptions& options);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  // For connections made from now on. Without a target they are reset.
  void SetTarget(const std::string& endpoint);
  // The fate of connections made from now on.
  void SetPlan(const TcpPlan& plan);

  // For all connections, present and future.
  void Shape(Way way, const LinkShape& shape);
  // While silent, nothing moves that way and nobody is told: bytes and ends wait until it is over.
  void Silence(Way way, bool silent);

  // Ends one live connection, drawn by seed; false when there is none.
  bool CutOne(Cut cut);
  // Ends all; returns how many there were.
  size_t CutAll(Cut cut);

  size_t live() const;
  TcpProxyCounts counts() const;

 private:
  struct Connection {
    TcpLink link;
    Cut cut = Cut::kClose;
    Way silent_way = Way::kUp;
    enum class Fate { kNone, kCut, kSilence } fate = Fate::kNone;
    uint64_t fate_at = 0;
  };

  void Run();
  void Accept() REQUIRES(mutex_);
  void DrawFate(Connection& connection) REQUIRES(mutex_);
  void MeetFate(Connection& connection) REQUIRES(mutex_);
  void End(Connection& connection, Cut cut) REQUIRES(mutex_);
  void Reap() REQUIRES(mutex_);
  void Wake();

  const uint64_t seed_;
  const SystemTimeSource time_;
  int listener_ = -1;
  int wake_ = -1;
  uint16_t port_ = 0;

  mutable Mutex mutex_;
  bool stop_ GUARDED_BY(mutex_) = false;
  std::string target_ GUARDED_BY(mutex_);
  TcpPlan plan_ GUARDED_BY(mutex_);
  LinkShape shapes_[2] GUARDED_BY(mutex_);
  bool silent_[2] GUARDED_BY(mutex_) = {false, false};
  SplitMix64 random_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Connection>> connections_ GUARDED_BY(mutex_);
  TcpProxyCounts counts_ GUARDED_BY(mutex_);

  Thread thread_;  // last: it uses all of the above
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_TCP_PROXY_H_

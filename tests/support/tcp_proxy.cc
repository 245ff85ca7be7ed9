#include "tests/support/tcp_proxy.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/status/status.h"

namespace syncline {
namespace {

sockaddr_in LoopbackAddress(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int NewSocket() {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  SYNCLINE_CHECK(s >= 0, "cannot make a socket");
  return s;
}

void SendAtOnce(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// -1: no port in the text, or nobody can be reached there.
int ConnectTo(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos) return -1;
  const sockaddr_in address =
      LoopbackAddress(static_cast<uint16_t>(std::atoi(endpoint.c_str() + colon + 1)));
  const int s = NewSocket();
  SendAtOnce(s);
  if (connect(s, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno == EINPROGRESS) {
    return s;
  }
  close(s);
  return -1;
}

int PollTimeout(MonotonicTime now, MonotonicTime due) {
  if (due == MonotonicTime::Max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

}  // namespace

TcpProxy::TcpProxy(const TcpProxyOptions& options)
    : seed_(options.seed), target_(options.target), plan_(options.plan), random_(options.seed) {
  listener_ = NewSocket();
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  sockaddr_in address = LoopbackAddress(0);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  SYNCLINE_CHECK(wake_ >= 0 && bind(listener_, generic, size) == 0 &&
                     listen(listener_, SOMAXCONN) == 0 &&
                     getsockname(listener_, generic, &size) == 0,
                 "cannot listen on loopback");
  port_ = ntohs(address.sin_port);
  thread_ = Thread("tcp-proxy", [this] { Run(); });
}

TcpProxy::~TcpProxy() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  Wake();
  thread_.Join();
  close(listener_);
  close(wake_);
}

void TcpProxy::SetTarget(const std::string& endpoint) {
  MutexLock lock(mutex_);
  target_ = endpoint;
}

void TcpProxy::SetPlan(const TcpPlan& plan) {
  MutexLock lock(mutex_);
  plan_ = plan;
}

void TcpProxy::Shape(Way way, const LinkShape& shape) {
  MutexLock lock(mutex_);
  shapes_[static_cast<int>(way)] = shape;
  for (const auto& connection : connections_) connection->link.SetShape(way, shape);
  Wake();
}

void TcpProxy::Silence(Way way, bool silent) {
  MutexLock lock(mutex_);
  silent_[static_cast<int>(way)] = silent;
  for (const auto& connection : connections_) connection->link.SetSilent(way, silent);
  Wake();
}

bool TcpProxy::CutOne(Cut cut) {
  MutexLock lock(mutex_);
  Reap();
  if (connections_.empty()) return false;
  End(*connections_[random_.Below(connections_.size())], cut);
  Wake();
  return true;
}

size_t TcpProxy::CutAll(Cut cut) {
  MutexLock lock(mutex_);
  Reap();
  for (const auto& connection : connections_) End(*connection, cut);
  Wake();
  return connections_.size();
}

size_t TcpProxy::live() const {
  MutexLock lock(mutex_);
  return static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(),
                                           [](const auto& c) { return c->link.alive(); }));
}

TcpProxyCounts TcpProxy::counts() const {
  MutexLock lock(mutex_);
  TcpProxyCounts counts = counts_;
  for (const auto& connection : connections_) {
    counts.bytes_up += connection->link.bytes(Way::kUp);
    counts.bytes_down += connection->link.bytes(Way::kDown);
  }
  return counts;
}

void TcpProxy::Wake() {
  const uint64_t one = 1;
  // Full means that a wake-up is pending already.
  [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof(one));
}

void TcpProxy::Run() {
  std::vector<pollfd> polls;
  MutexLock lock(mutex_);
  while (!stop_) {
    polls.assign({{listener_, POLLIN, 0}, {wake_, POLLIN, 0}});
    MonotonicTime due = MonotonicTime::Max();
    const MonotonicTime before = time_.Now();
    for (const auto& connection : connections_) {
      connection->link.AddPolls(before, polls);
      due = std::min(due, connection->link.NextDue(before));
    }
    lock.Unlock();
    poll(polls.data(), polls.size(), PollTimeout(before, due));
    lock.Lock();
    uint64_t wakes = 0;
    [[maybe_unused]] const ssize_t n = read(wake_, &wakes, sizeof(wakes));
    Accept();
    const MonotonicTime now = time_.Now();
    for (const auto& connection : connections_) {
      if (!connection->link.alive()) continue;
      connection->link.Drive(now);
      MeetFate(*connection);
    }
    Reap();
  }
}

void TcpProxy::Accept() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return;
    SendAtOnce(client);
    auto connection = std::make_unique<Connection>();
    const int server = ConnectTo(target_);
    connection->link.Open(client, server);
    DrawFate(*connection);
    ++counts_.accepted;
    if (server < 0) {
      connection->link.End(Cut::kReset);
      continue;
    }
    for (const Way way : {Way::kUp, Way::kDown}) {
      connection->link.SetShape(way, shapes_[static_cast<int>(way)]);
      connection->link.SetSilent(way, silent_[static_cast<int>(way)]);
    }
    connections_.push_back(std::move(connection));
  }
}

void TcpProxy::DrawFate(Connection& connection) {
  SplitMix64 random(Mix64(seed_) + counts_.accepted);
  const double u = random.Uniform();
  connection.fate_at = 1 + random.Below(std::max<uint64_t>(1, plan_.bytes_before));
  connection.silent_way = random.Below(2) == 0 ? Way::kUp : Way::kDown;
  const double cuts = plan_.cut_probability + plan_.reset_probability;
  if (u < cuts) {
    connection.fate = Connection::Fate::kCut;
    connection.cut = u < plan_.cut_probability ? Cut::kClose : Cut::kReset;
  } else if (u < cuts + plan_.silence_probability) {
    connection.fate = Connection::Fate::kSilence;
  }
}

void TcpProxy::MeetFate(Connection& connection) {
  TcpLink& link = connection.link;
  if (connection.fate == Connection::Fate::kNone || !link.alive() ||
      link.bytes(Way::kUp) + link.bytes(Way::kDown) < connection.fate_at) {
    return;
  }
  if (connection.fate == Connection::Fate::kCut) {
    End(connection, connection.cut);
  } else {
    link.SetSilent(connection.silent_way, true);
    ++counts_.silenced;
  }
  connection.fate = Connection::Fate::kNone;
}

void TcpProxy::End(Connection& connection, Cut cut) {
  if (!connection.link.alive()) return;
  connection.link.End(cut);
  ++(cut == Cut::kReset ? counts_.reset : counts_.cut);
}

void TcpProxy::Reap() {
  uint64_t up = 0;
  uint64_t down = 0;
  std::erase_if(connections_, [&](const auto& connection) {
    if (connection->link.alive()) return false;
    up += connection->link.bytes(Way::kUp);
    down += connection->link.bytes(Way::kDown);
    return true;
  });
  counts_.bytes_up += up;
  counts_.bytes_down += down;
}

}  // namespace syncline

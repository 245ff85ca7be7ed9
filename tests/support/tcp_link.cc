#include "tests/support/tcp_link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace syncline {
namespace {

constexpr size_t kReadBytes = 64 << 10;
// A rate-limited way writes as much as the rate gives in this time, then pauses.
constexpr uint64_t kRateSlicesPerSecond = 100;
constexpr std::chrono::nanoseconds kRateSlice{1'000'000'000 / kRateSlicesPerSecond};

bool IsTransient(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

void TcpLink::Open(int client, int server) {
  sockets_[0] = client;
  sockets_[1] = server;
}

void TcpLink::End(Cut cut) {
  for (int& socket : sockets_) {
    if (socket < 0) continue;
    if (cut == Cut::kReset) {
      const linger at_once{.l_onoff = 1, .l_linger = 0};
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    close(socket);
    socket = -1;
  }
}

bool TcpLink::WantsRead(const Pipe& pipe) const {
  return !pipe.silent && !pipe.ended && pipe.held < kLinkBufferBytes;
}

bool TcpLink::WantsWrite(const Pipe& pipe, MonotonicTime now) const {
  return !pipe.silent && !pipe.queue.empty() && pipe.queue.front().due <= now &&
         pipe.next_write <= now;
}

void TcpLink::AddPolls(MonotonicTime now, std::vector<pollfd>& polls) const {
  for (int i = 0; i < 2; ++i) {
    const Pipe& out = pipes_[i];
    const Pipe& in = pipes_[1 - i];
    const int events = (WantsRead(out) ? POLLIN : 0) | (WantsWrite(in, now) ? POLLOUT : 0);
    // A socket that nothing is wanted of is left out: its errors would wake the loop for ever.
    polls.push_back({events == 0 ? -1 : sockets_[i], static_cast<short>(events), 0});
  }
}

MonotonicTime TcpLink::NextDue(MonotonicTime now) const {
  MonotonicTime next = MonotonicTime::Max();
  for (const Pipe& pipe : pipes_) {
    if (pipe.silent || pipe.queue.empty()) continue;
    const MonotonicTime due = std::max(pipe.queue.front().due, pipe.next_write);
    if (due > now) next = std::min(next, due);  // what is due already waits for its socket
  }
  return next;
}

void TcpLink::Drive(MonotonicTime now) {
  for (int i = 0; i < 2 && alive(); ++i) {
    if (!Fill(pipes_[i], sockets_[i], now) || !Empty(pipes_[i], sockets_[1 - i], now)) {
      End(Cut::kReset);
    }
  }
  if (pipes_[0].end_told && pipes_[1].end_told) End(Cut::kClose);
}

bool TcpLink::Fill(Pipe& pipe, int from, MonotonicTime now) {
  std::array<uint8_t, kReadBytes> buffer;
  while (WantsRead(pipe)) {
    const ssize_t n = recv(from, buffer.data(), buffer.size(), 0);
    if (n < 0) return IsTransient(errno);
    pipe.ended = n == 0;
    pipe.held += static_cast<size_t>(n);
    // An empty chunk carries the end.
    pipe.queue.push_back({{buffer.data(), buffer.data() + n}, 0, now + pipe.shape.delay});
  }
  return true;
}

bool TcpLink::Empty(Pipe& pipe, int to, MonotonicTime now) {
  while (WantsWrite(pipe, now)) {
    Chunk& chunk = pipe.queue.front();
    if (chunk.bytes.empty()) {
      shutdown(to, SHUT_WR);
      pipe.end_told = true;
      pipe.queue.pop_front();
      return true;
    }
    const uint64_t rate = pipe.shape.bytes_per_second;
    size_t want = chunk.bytes.size() - chunk.done;
    if (rate > 0) want = std::min(want, std::max<size_t>(1, rate / kRateSlicesPerSecond));
    const ssize_t n = send(to, chunk.bytes.data() + chunk.done, want, MSG_NOSIGNAL);
    if (n < 0) return IsTransient(errno);
    const size_t sent = static_cast<size_t>(n);
    if (rate > 0) {
      // Time that the loop woke up late is made good, up to one slice.
      pipe.next_write = std::max(pipe.next_write, now - kRateSlice) +
                        std::chrono::nanoseconds(1'000'000'000ull * sent / rate);
    }
    pipe.delivered += sent;
    pipe.held -= sent;
    chunk.done += sent;
    if (chunk.done == chunk.bytes.size()) pipe.queue.pop_front();
  }
  return true;
}

}  // namespace syncline

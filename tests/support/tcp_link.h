// One proxied TCP connection: two sockets and a bounded, delayed, rate-limited buffer each way.
// No threads, no locks, no time of its own: TcpProxy drives it.
#ifndef SYNCLINE_TESTS_SUPPORT_TCP_LINK_H_
#define SYNCLINE_TESTS_SUPPORT_TCP_LINK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <poll.h>

#include "common/time_source.h"

namespace syncline {

// kUp: from the client to the server. kDown: back.
enum class Way : int { kUp = 0, kDown = 1 };

enum class Cut {
  kClose,  // close(2); the peer sees an end of file, or a reset when it had unread bytes on the way
  kReset,  // RST
};

// How one way of a connection carries bytes. Order within the way is kept, as TCP does.
struct LinkShape {
  std::chrono::nanoseconds delay{0};
  uint64_t bytes_per_second = 0;  // 0: unlimited
};

// Bytes held per way. Beyond it the sender is not read, so that TCP holds it back. A delay thus
// also limits the rate, to this many bytes per delay.
inline constexpr size_t kLinkBufferBytes = size_t{1} << 20;

class TcpLink {
 public:
  TcpLink() = default;
  ~TcpLink() { End(Cut::kClose); }
  TcpLink(const TcpLink&) = delete;
  TcpLink& operator=(const TcpLink&) = delete;

  // Takes both non-blocking sockets. `server` may still be connecting.
  void Open(int client, int server);
  // Closes both sockets. Idempotent.
  void End(Cut cut);
  // False once a side failed, both sides ended, or End was called.
  bool alive() const { return sockets_[0] >= 0; }

  void SetShape(Way way, const LinkShape& shape) { pipe(way).shape = shape; }
  void SetSilent(Way way, bool silent) { pipe(way).silent = silent; }
  // Delivered so far.
  uint64_t bytes(Way way) const { return pipes_[static_cast<int>(way)].delivered; }

  // Appends what to wait for: always two entries.
  void AddPolls(MonotonicTime now, std::vector<pollfd>& polls) const;
  // When, after `now`, it wants to be driven even if no socket is ready; Max() for never.
  MonotonicTime NextDue(MonotonicTime now) const;
  // Moves bytes. Any error of either side resets both.
  void Drive(MonotonicTime now);

 private:
  struct Chunk {
    std::vector<uint8_t> bytes;
    size_t done = 0;
    MonotonicTime due;
  };
  struct Pipe {
    LinkShape shape;
    bool silent = false;
    bool ended = false;     // the sender will send no more
    bool end_told = false;  // and the receiver knows
    std::deque<Chunk> queue;
    size_t held = 0;
    MonotonicTime next_write;  // by the rate limit
    uint64_t delivered = 0;
  };

  Pipe& pipe(Way way) { return pipes_[static_cast<int>(way)]; }
  bool WantsRead(const Pipe& pipe) const;
  bool WantsWrite(const Pipe& pipe, MonotonicTime now) const;
  // False: the connection failed.
  bool Fill(Pipe& pipe, int from, MonotonicTime now);
  bool Empty(Pipe& pipe, int to, MonotonicTime now);

  int sockets_[2] = {-1, -1};  // client, server
  Pipe pipes_[2];              // pipe i carries from sockets_[i] to the other
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_TCP_LINK_H_

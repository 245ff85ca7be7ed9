// Stands in front of a ps-server's data endpoint, ends Exchange on both sides, and drops,
// duplicates, delays and reorders whole frames; can lose the first reply of a push that was applied
// and cut streams. Every other call (the coordinator's commands come to the same endpoint) is
// passed on unharmed.
//
//   FrameRelay relay(seed);
//   start ps-server with --advertise=<relay.endpoint()>, so that clients find the relay in the map
//   relay.SetTarget(endpoint of the server);
//   relay.SetPlan({.lose_first_push_reply = 0.3});
//   relay.CutOne();
#ifndef SYNCLINE_TESTS_SUPPORT_FRAME_RELAY_H_
#define SYNCLINE_TESTS_SUPPORT_FRAME_RELAY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tests/support/relay_plan.h"

namespace syncline {

// Thread-safe.
class FrameRelay {
 public:
  // Listens at once, on a loopback port that the system chooses. Panics when it cannot.
  explicit FrameRelay(uint64_t seed);
  // Cuts everything and waits for it to be gone.
  ~FrameRelay();
  FrameRelay(const FrameRelay&) = delete;
  FrameRelay& operator=(const FrameRelay&) = delete;

  const std::string& endpoint() const;
  // Where calls made from now on go. Without a target they are answered UNAVAILABLE.
  void SetTarget(const std::string& endpoint);
  // For every frame from now on.
  void SetPlan(const RelayPlan& plan);
  // Ends one live stream, drawn by seed; false when there is none.
  bool CutOne();
  // Ends all; returns how many there were.
  size_t CutAll();
  // Streams that are not gone yet.
  size_t live() const;
  RelayCounts counts() const;

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_FRAME_RELAY_H_

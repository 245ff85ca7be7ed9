// Servers as the protocol's rules say they behave, one session wide, and a network that loses,
// doubles, delays and reorders whole frames: what ClientCore is tested against. Frames cross it as
// bytes. Rows start at zero and a push adds its gradient, so integer gradients give exact sums.
#ifndef SYNCLINE_TESTS_WORKER_CLIENT_MODEL_CLUSTER_H_
#define SYNCLINE_TESTS_WORKER_CLIENT_MODEL_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/random.h"
#include "common/slot_map/slot_map.h"
#include "common/table_spec.h"
#include "common/time_source.h"
#include "worker/client/client_core.h"

namespace syncline {

struct Faults {
  double drop = 0;        // of frames, each way
  double duplicate = 0;   // the same
  double reorder = 0;     // share of frames that take ten times as long
  double disconnect = 0;  // per frame sent
  double refuse = 0;      // operations answered with a retry outcome
};

// The rows and the sequence state of one slot.
struct ModelSlot {
  Incarnation incarnation{1};
  bool session_known = true;
  bool fenced = false;
  uint64_t last = 0;
  Clock clock;
  bool left = false;
  std::map<uint64_t, PartOutcome> outcomes;
  std::map<std::pair<uint32_t, Key>, std::vector<double>> rows;
  uint64_t cancelled = 0;
  uint64_t duplicates = 0;  // operations that came again
};

class ModelCluster {
 public:
  ModelCluster(uint32_t servers, uint32_t slots, uint64_t seed, Faults faults = {});

  const SlotMap& map() const { return map_; }
  CoreSession Session(bool clocked = true) const;
  MonotonicTime now() const { return now_; }
  ModelSlot& slot(uint32_t i) { return slots_[i]; }
  SlotId SlotOfKey(const TableInfo& table, Key key) const { return map_.SlotOfRow(table.id, key); }

  // Runs the core until it and the network are idle, or `done` says so. False: it did not within
  // `limit` of simulated time.
  bool Run(ClientCore& core, const std::function<bool()>& done,
           std::chrono::nanoseconds limit = std::chrono::minutes(10));
  // Takes what the core wants to do; Run does it by itself.
  void Drain(ClientCore& core);

  // The weight of a row's element; 0 when it was never pushed.
  double Weight(const TableInfo& table, Key key, size_t element = 0) const;

  // Moves a slot to another server under a new epoch. The core learns it by asking for the map.
  void MoveSlot(uint32_t slot, ServerId to);
  void Break(ServerId server) { broken_.insert(server); }  // its frames vanish, both ways
  void Repair(ServerId server) { broken_.erase(server); }

  Faults faults;
  // Told of every frame as a server receives it, before it acts.
  std::function<void(ServerId, const OutMessage&, size_t bytes)> on_frame;

  struct Counters {
    uint64_t frames = 0;
    uint64_t dropped = 0;
    uint64_t disconnects = 0;
    uint64_t replies_lost = 0;
    size_t largest_frame = 0;
  } counters;

  // --- The servers alone, for a network of the caller's own.
  // A frame as it lies on the wire.
  struct Wire {
    uint64_t request_id = 0;
    std::variant<std::vector<uint8_t>, TickFrame, LeaveFrame, ResumeFrame, OutcomesFrame> content;
    bool is_push = false;
  };
  static Wire ToWire(const OutFrame& frame);
  Wire Answer(ServerId server, const Wire& wire);
  static void Receive(const Wire& reply, const std::function<void(const InFrame&)>& handle);

 private:
  void At(std::chrono::nanoseconds delay, std::function<void(ClientCore&)> action);
  std::chrono::nanoseconds Delay();
  void Connect(const ClientEffects::Connect& connect);
  void Disconnect(ServerId server);
  void ToServer(ServerId server, const OutFrame& frame);
  void ToClient(ServerId server, uint64_t connection, const Wire& reply);
  void Serve(ServerId server, uint64_t connection, const Wire& wire);
  Wire ServePush(ServerId server, const Wire& wire);
  Wire ServePull(ServerId server, const Wire& wire);
  OutcomesFrame ServeTick(ServerId server, const TickFrame& tick);
  OutcomesFrame ServeLeave(ServerId server, const LeaveFrame& leave);
  OutcomesFrame ServeResume(ServerId server, const ResumeFrame& resume);
  PartOutcome Decide(ServerId server, SlotId slot, Incarnation incarnation, Sequence sequence,
                     const std::function<void(ModelSlot&, PartOutcome&)>& apply);
  absl::Status CheckRead(ServerId server, const PullPart& part, PullReplyFrame& reply);
  void ApplyPush(ModelSlot& slot, const PushFrame& push, const PushPart& part);

  SlotMap map_;
  SplitMix64 random_;
  MonotonicTime now_;
  uint64_t next_event_ = 0;
  std::map<std::pair<MonotonicTime, uint64_t>, std::function<void(ClientCore&)>> events_;
  std::map<ServerId, uint64_t> connections_;  // live ones
  std::set<ServerId> broken_;
  std::vector<ModelSlot> slots_;
};

// An embedding (or dense) table of the model.
TableInfo ModelTable(uint32_t id, uint32_t dim, std::string name = "user");

}  // namespace syncline

#endif  // SYNCLINE_TESTS_WORKER_CLIENT_MODEL_CLUSTER_H_

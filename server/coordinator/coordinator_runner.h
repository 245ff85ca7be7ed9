// Runs the coordinator's core: one thread, the clock, and the records.
#ifndef SYNCLINE_SERVER_COORDINATOR_COORDINATOR_RUNNER_H_
#define SYNCLINE_SERVER_COORDINATOR_COORDINATOR_RUNNER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/random.h"
#include "common/thread/bounded_queue.h"
#include "common/thread/thread.h"
#include "common/time_source.h"
#include "server/coordinator/coordinator_core.h"
#include "server/coordinator/meta_store.h"

namespace syncline::coordinator {

// Work is run in the order it was posted. What a piece of work changed is durable in the MetaStore
// before anything of it leaves: commands, answers, and the work's own Finish. While the store
// cannot be written, nothing leaves and requests get UNAVAILABLE; it is tried again with every
// tick. When somebody else wrote the records (ABORTED), another coordinator has taken over: this
// one answers nothing but that any more.
//
// Thread-safe.
class CoordinatorRunner {
 public:
  // Called on the runner's thread when the work's changes are durable (OK), or with why not.
  using Finish = std::function<void(const absl::Status& stored)>;
  using Work = std::function<Finish(CoordinatorCore& core, MonotonicTime now, Effects& effects)>;
  using AnswerBody = absl::StatusOr<std::variant<JoinResult, TableInfo>>;
  using Question = std::function<void(CoordinatorCore& core, RequestId request, MonotonicTime now,
                                      Effects& effects)>;
  // Sends a command; the answer comes back through OnCommandReply. Called on the runner's thread.
  using Sender = std::function<void(const Dispatch& dispatch)>;

  // Reads the records, raises the term and starts the thread.
  // REQUIRES: `store`, `time` and `random` outlive it; `time` is the system's.
  // Errors: the store's; DATA_LOSS (a damaged record); CoordinatorCore::Start's.
  static absl::StatusOr<std::unique_ptr<CoordinatorRunner>> Start(const CoreConfig& config,
                                                                  MetaStore& store,
                                                                  OptimizerCheck check_optimizer,
                                                                  const TimeSource& time,
                                                                  Random& random, Sender sender);
  ~CoordinatorRunner() { Stop(); }
  CoordinatorRunner(const CoordinatorRunner&) = delete;
  CoordinatorRunner& operator=(const CoordinatorRunner&) = delete;

  // False, and nothing will run: kMaxCoordinatorQueue pieces of work wait, or it is stopped.
  bool Post(Work work);
  // For requests that are answered through Effects::answers: `done` is called once, on the
  // runner's thread, with UNAVAILABLE when it stops before.
  bool Ask(Question question, std::function<void(AnswerBody)> done);
  void OnCommandReply(ServerId server, Command command, CommandReply reply);

  // Runs what is posted, answers what waits with UNAVAILABLE, and ends the thread. Idempotent.
  // REQUIRES: not called on the runner's thread.
  void Stop();

  const std::string& cluster() const { return cluster_; }

 private:
  CoordinatorRunner(MetaStore& store, const TimeSource& time, Sender sender);
  absl::Status Load(const CoreConfig& config, OptimizerCheck check_optimizer, Random& random);
  void Loop();
  void RunOne(const Work& work);
  absl::Status Save(Effects& effects);
  void Release();

  MetaStore& store_;
  const TimeSource& time_;
  const Sender sender_;
  std::string cluster_;
  BoundedQueue<Work> queue_{kMaxCoordinatorQueue};

  // Below: the runner's thread alone (after Load).
  std::unique_ptr<CoordinatorCore> core_;
  std::map<std::string, MetaVersion> versions_;  // of the records, as last written
  std::map<std::string, std::optional<std::string>> unsaved_;
  std::vector<Dispatch> held_commands_;  // until what they follow from is durable
  std::vector<Answer> held_answers_;
  std::map<RequestId, std::function<void(AnswerBody)>> asked_;
  RequestId last_request_ = 0;
  absl::Status deposed_;  // not OK: another coordinator writes the records

  Thread thread_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_COORDINATOR_RUNNER_H_

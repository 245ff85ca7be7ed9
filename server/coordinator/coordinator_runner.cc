#include "server/coordinator/coordinator_runner.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline::coordinator {
namespace {

absl::Status Stopped() {
  return MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                   "the coordinator is shutting down; retry");
}

}  // namespace

CoordinatorRunner::CoordinatorRunner(MetaStore& store, const TimeSource& time, Sender sender)
    : store_(store), time_(time), sender_(std::move(sender)) {}

absl::StatusOr<std::unique_ptr<CoordinatorRunner>> CoordinatorRunner::Start(
    const CoreConfig& config, MetaStore& store, OptimizerCheck check_optimizer,
    const TimeSource& time, Random& random, Sender sender) {
  std::unique_ptr<CoordinatorRunner> runner(new CoordinatorRunner(store, time, std::move(sender)));
  RETURN_IF_ERROR(runner->Load(config, std::move(check_optimizer), random));
  runner->thread_ = Thread("coordinator", [r = runner.get()] { r->Loop(); });
  return runner;
}

absl::Status CoordinatorRunner::Load(const CoreConfig& config, OptimizerCheck check_optimizer,
                                     Random& random) {
  ASSIGN_OR_RETURN(const std::vector<MetaRecord> records, store_.List(""));
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const MetaRecord& record : records) {
    versions_[record.key] = record.version;
    pairs.emplace_back(record.key, record.value);
  }
  ASSIGN_OR_RETURN(StoredState stored, DecodeRecords(pairs));
  Effects effects;
  ASSIGN_OR_RETURN(
      core_, CoordinatorCore::Start(config, std::move(stored), std::move(check_optimizer), random,
                                    time_.Now(), effects));
  cluster_ = core_->cluster();
  return Save(effects);  // the term is durable before anybody hears of it
}

bool CoordinatorRunner::Post(Work work) { return queue_.TryPush(std::move(work)); }

bool CoordinatorRunner::Ask(Question question, std::function<void(AnswerBody)> done) {
  return Post([this, question = std::move(question), done = std::move(done)](
                  CoordinatorCore& core, MonotonicTime now, Effects& effects) -> Finish {
    const RequestId request = ++last_request_;
    asked_.emplace(request, done);
    question(core, request, now, effects);
    return [this, request](const absl::Status& stored) {
      const auto it = asked_.find(request);
      if (stored.ok() || it == asked_.end()) return;
      const auto answer = std::move(it->second);
      asked_.erase(it);
      answer(stored);
    };
  });
}

void CoordinatorRunner::OnCommandReply(ServerId server, Command command, CommandReply reply) {
  // A reply that finds no room is as good as lost: the command is sent again.
  Post([server, command = std::move(command), reply = std::move(reply)](
           CoordinatorCore& core, MonotonicTime now, Effects& effects) -> Finish {
    core.OnCommandReply(server, command, reply, now, effects);
    return nullptr;
  });
}

void CoordinatorRunner::Loop() {
  MonotonicTime next_tick = time_.Now();
  for (;;) {
    const auto wait = std::max(next_tick - time_.Now(), std::chrono::nanoseconds(0));
    const std::optional<Work> work = queue_.PopFor(wait);
    if (work) RunOne(*work);
    if (!work && queue_.closed()) break;
    if (time_.Now() < next_tick) continue;
    next_tick = time_.Now() + kCoordinatorTick;
    RunOne([](CoordinatorCore& core, MonotonicTime now, Effects& effects) -> Finish {
      core.OnTimer(now, effects);
      return nullptr;
    });
  }
  for (auto& [request, done] : std::exchange(asked_, {})) done(Stopped());
}

void CoordinatorRunner::RunOne(const Work& work) {
  Effects effects;
  const Finish finish = work(*core_, time_.Now(), effects);
  std::move(effects.commands.begin(), effects.commands.end(), std::back_inserter(held_commands_));
  std::move(effects.answers.begin(), effects.answers.end(), std::back_inserter(held_answers_));
  const absl::Status stored = Save(effects);
  if (stored.ok()) Release();
  if (finish) finish(stored);
}

absl::Status CoordinatorRunner::Save(Effects& effects) {
  for (auto& [key, value] : effects.persist) unsaved_[key] = std::move(value);
  if (!deposed_.ok()) return deposed_;
  std::vector<MetaChange> changes;
  for (const auto& [key, value] : unsaved_) {
    const auto it = versions_.find(key);
    const MetaVersion expected = it == versions_.end() ? kAbsent : it->second;
    if (value || expected != kAbsent) changes.push_back({key, expected, value});
  }
  if (!changes.empty()) {
    const absl::StatusOr<MetaVersion> version = store_.CompareAndSwap(changes);
    if (version.status().code() == absl::StatusCode::kAborted) {
      deposed_ = MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                           "another coordinator has taken over ({}); ask that one",
                           MessageOf(version.status()));
      return deposed_;
    }
    if (!version.ok()) return Annotate(version.status(), "the coordinator's records");
    for (const MetaChange& change : changes) {
      if (change.value) {
        versions_[change.key] = *version;
      } else {
        versions_.erase(change.key);
      }
    }
  }
  unsaved_.clear();
  return absl::OkStatus();
}

void CoordinatorRunner::Release() {
  for (const Dispatch& dispatch : std::exchange(held_commands_, {})) sender_(dispatch);
  for (Answer& answer : std::exchange(held_answers_, {})) {
    const auto it = asked_.find(answer.request);
    if (it == asked_.end()) continue;
    const auto done = std::move(it->second);
    asked_.erase(it);
    done(std::move(answer.body));
  }
}

void CoordinatorRunner::Stop() {
  queue_.Close();
  thread_.Join();
}

}  // namespace syncline::coordinator

#include "worker/dlrm/cluster_learner.h"

#include <chrono>
#include <thread>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

// Under bsp a read waits for all ticks by itself. Elsewhere the barrier must not be a round table,
// which would hold back ticks of ranks that run ahead (PROTOCOL.md R3).
TableSpec BarrierSpec(const ConsistencyPolicy& policy) {
  TableSpec spec;
  spec.name = "barrier";
  spec.kind = TableKind::kDense;
  spec.dim = 1;
  spec.elements = 1;
  spec.consistency = {.mode = ConsistencyMode::kSsp, .staleness = Staleness(0)};
  if (policy.mode == ConsistencyMode::kBsp) spec.consistency = policy;
  return spec;
}

}  // namespace

ClusterLearner::ClusterLearner(std::unique_ptr<PsClient> client, ClusterLearnerOptions options,
                               const TimeSource& time)
    : client_(std::move(client)), options_(std::move(options)), time_(time) {}

absl::StatusOr<std::unique_ptr<ClusterLearner>> ClusterLearner::Create(
    std::unique_ptr<PsClient> client, ClusterLearnerOptions options, const TimeSource& time) {
  std::unique_ptr<ClusterLearner> learner(
      new ClusterLearner(std::move(client), std::move(options), time));
  ASSIGN_OR_RETURN(learner->model_, Dlrm::Create(learner->options_.model, learner->stream_,
                                                 learner->embedding_ops_, learner->dense_ops_));
  ASSIGN_OR_RETURN(ParameterTables tables,
                   ParameterTables::Create(*learner->client_, learner->options_.model,
                                           learner->options_.tables));
  learner->tables_ = std::make_unique<ParameterTables>(std::move(tables));
  ASSIGN_OR_RETURN(learner->barrier_, learner->client_->CreateTable(
                                          BarrierSpec(learner->options_.tables.consistency)));
  return learner;
}

absl::StatusOr<StepResult> ClusterLearner::Train(const Batch& batch) {
  StepResult result;
  result.logits.resize(batch.size);
  ASSIGN_OR_RETURN(const Lookup lookup, model_->LookUp(batch));
  RETURN_IF_ERROR(tables_->Pull(lookup, {}, parameters_));
  const MonotonicTime began = time_.Now();
  gradients_.Resize(options_.model, lookup);
  ASSIGN_OR_RETURN(result.loss_sum, model_->Train(batch, lookup, parameters_.parameters(),
                                                  gradients_.gradients(), result.logits));
  if (options_.slow_factor > 1) {
    const std::chrono::duration<double, std::nano> computed = time_.Now() - began;
    std::this_thread::sleep_for(computed * (options_.slow_factor - 1));
  }
  tables_->Push(lookup, gradients_, batch.size);
  return result;
}

absl::StatusOr<StepResult> ClusterLearner::Step(const Batch& batch,
                                                std::string_view reader_position) {
  StepResult result;
  if (batch.size > 0) {
    ASSIGN_OR_RETURN(result, Train(batch));
  }
  client_->TickAsync(batch.size, reader_position, nullptr);
  RETURN_IF_ERROR(client_->session_status());
  return result;
}

absl::StatusOr<std::vector<float>> ClusterLearner::Predict(const Batch& batch) {
  std::vector<float> logits(batch.size);
  if (batch.size == 0) return logits;
  ASSIGN_OR_RETURN(const Lookup lookup, model_->LookUp(batch));
  RETURN_IF_ERROR(tables_->Pull(lookup, {.read_only = true}, parameters_));
  RETURN_IF_ERROR(model_->Predict(batch, lookup, parameters_.parameters(), logits));
  return logits;
}

absl::Status ClusterLearner::Barrier() {
  client_->TickAsync(0, "", nullptr);
  RETURN_IF_ERROR(client_->Flush());
  float unused = 0;
  return client_->PullDense(barrier_, std::span(&unused, 1));
}

absl::Status ClusterLearner::Finish() { return client_->Leave(); }

absl::Status ClusterLearner::OpenPass(uint64_t pass, uint64_t pieces) {
  return client_->OpenPass(pass, pieces);
}

absl::StatusOr<PieceSource::Lease> ClusterLearner::LeasePiece(uint64_t pass) {
  ASSIGN_OR_RETURN(const PsClient::LeasedPiece leased, client_->LeasePiece(pass));
  return Lease{leased.pass_closed, leased.piece};
}

absl::StatusOr<bool> ClusterLearner::ReportPiece(uint64_t pass, uint64_t piece) {
  RETURN_IF_ERROR(client_->Flush());
  const absl::Status reported = client_->ReportPiece(pass, piece);
  if (reported.ok()) return true;
  // A coordinator that restarted knows neither the pass nor who holds what.
  const bool forgotten = absl::IsNotFound(reported) || absl::IsFailedPrecondition(reported);
  if (forgotten && DetailOf(reported) == Detail::kNone) return false;
  return reported;
}

absl::Status ClusterLearner::Idle() {
  const TableInfo& table = tables_->dense().front();
  std::vector<float> unused(table.spec.elements);
  RETURN_IF_ERROR(client_->PullDense(table, unused, {.read_only = true}));
  client_->TickAsync(0, "", nullptr);
  std::this_thread::sleep_for(kPieceAskInterval);
  return client_->session_status();
}

LearnerStats ClusterLearner::Stats() const {
  const ClientStats stats = client_->stats();
  const auto parts = static_cast<double>(stats.staleness_parts);
  return {.clock = client_->clock().value(),
          .wait_seconds = stats.pull_wait_seconds,
          .staleness_mean = parts > 0 ? static_cast<double>(stats.staleness_sum) / parts : 0,
          .bytes_sent = stats.bytes_sent,
          .bytes_received = stats.bytes_received};
}

}  // namespace syncline

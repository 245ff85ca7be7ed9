#include "worker/dlrm/model.h"

#include <utility>

#include "common/status/status.h"

namespace syncline {
namespace {

Bags BagsOf(const Batch& batch, const Lookup& lookup, size_t field) {
  return {lookup.indices[field], batch.fields[field].offsets};
}

template <typename Spans>
absl::Status CheckShapes(const char* what, const std::vector<DenseTensor>& tensors,
                         const std::vector<EmbeddingTable>& tables, const Lookup& lookup,
                         const Spans& spans) {
  if (spans.dense.size() != tensors.size() || spans.rows.size() != tables.size()) {
    return InvalidArgument("model: {} for {} dense tensors and {} tables, {} and {} are needed",
                           what, spans.dense.size(), spans.rows.size(), tensors.size(),
                           tables.size());
  }
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (spans.dense[t].size() != tensors[t].size()) {
      return InvalidArgument("model: {} of {} have {} values, {} are needed", what, tensors[t].name,
                             spans.dense[t].size(), tensors[t].size());
    }
  }
  for (size_t t = 0; t < tables.size(); ++t) {
    const size_t want = lookup.keys[t].size() * tables[t].dim;
    if (spans.rows[t].size() != want) {
      return InvalidArgument("model: {} of table {} have {} values, {} are needed", what,
                             tables[t].name, spans.rows[t].size(), want);
    }
  }
  return absl::OkStatus();
}

}  // namespace

void ModelBuffers::Resize(const DlrmConfig& config, const Lookup& lookup) {
  const auto tensors = DenseTensorsOf(config);
  dense.resize(tensors.size());
  for (size_t t = 0; t < tensors.size(); ++t) dense[t].assign(tensors[t].size(), 0.0F);
  rows.resize(lookup.keys.size());
  for (size_t t = 0; t < rows.size(); ++t) {
    rows[t].assign(lookup.keys[t].size() * config.dim, 0.0F);
  }
}

ModelParameters ModelBuffers::parameters() const {
  return {{dense.begin(), dense.end()}, {rows.begin(), rows.end()}};
}

ModelGradients ModelBuffers::gradients() {
  return {{dense.begin(), dense.end()}, {rows.begin(), rows.end()}};
}

absl::StatusOr<std::unique_ptr<Dlrm>> Dlrm::Create(DlrmConfig config, Stream& stream,
                                                   const EmbeddingOps& embedding_ops,
                                                   const DenseOps& dense_ops) {
  RETURN_IF_ERROR(ValidateDlrmConfig(config));
  return std::unique_ptr<Dlrm>(new Dlrm(std::move(config), stream, embedding_ops, dense_ops));
}

Dlrm::Dlrm(DlrmConfig config, Stream& stream, const EmbeddingOps& embedding_ops,
           const DenseOps& dense_ops)
    : config_(std::move(config)),
      dense_tensors_(DenseTensorsOf(config_)),
      tables_(EmbeddingTablesOf(config_)),
      table_of_field_(TableOfField(config_)),
      bottom_(BottomWidths(config_), config_.activation, /*linear_output=*/false),
      top_(TopWidths(config_), config_.activation, /*linear_output=*/true),
      stream_(stream),
      embedding_ops_(embedding_ops),
      dense_ops_(dense_ops) {}

// --- Memory -----------------------------------------------------------------------------------

size_t Dlrm::ScratchBytes(size_t batch_size) const {
  const auto bytes = [&](size_t cols) { return Arena::BytesFor<float>(batch_size * cols); };
  size_t sum = bytes(TopInputWidth(config_)) + bytes(VectorCount(config_) * config_.dim);
  for (size_t l = 0; l < bottom_.layers(); ++l) sum += bytes(bottom_.output_width(l));
  for (size_t l = 0; l < top_.layers(); ++l) sum += bytes(top_.output_width(l));
  return 2 * sum;  // values and their gradients
}

void Dlrm::PrepareArena(size_t batch_size) {
  const size_t needed = ScratchBytes(batch_size);
  if (needed > arena_.capacity()) arena_ = Arena(needed);
  arena_.Reset();
}

Matrix Dlrm::Scratch(size_t rows, size_t cols) {
  auto block = arena_.Allocate<float>(rows * cols);
  SYNCLINE_CHECK(block.ok(), "model: ScratchBytes does not count every block");
  return {*block, rows, cols};
}

Dlrm::Activations Dlrm::MakeActivations(size_t batch_size) {
  Activations a;
  const size_t width = VectorCount(config_) * config_.dim;
  a.top_input = Scratch(batch_size, TopInputWidth(config_));
  a.vectors = has_bottom() ? Scratch(batch_size, width) : a.top_input.Columns(0, width);
  for (size_t l = 0; l + 1 < bottom_.layers(); ++l) {
    a.bottom.push_back(Scratch(batch_size, bottom_.output_width(l)));
  }
  if (has_bottom()) a.bottom.push_back(a.vectors.Columns(0, config_.dim));
  for (size_t l = 0; l < top_.layers(); ++l) {
    a.top.push_back(Scratch(batch_size, top_.output_width(l)));
  }
  return a;
}

Matrix Dlrm::FieldColumns(const Activations& a, size_t field) const {
  return a.vectors.Columns((field + (has_bottom() ? 1 : 0)) * config_.dim, config_.dim);
}

// --- Checks -----------------------------------------------------------------------------------

absl::Status Dlrm::CheckSizes(const Batch& batch, const Lookup& lookup,
                              const ModelParameters& parameters, std::span<float> logits) const {
  if (lookup.keys.size() != tables_.size() || lookup.indices.size() != config_.fields.size() ||
      batch.fields.size() != config_.fields.size()) {
    return InvalidArgument("model: the lookup is not of this model; make it with LookUp");
  }
  for (size_t f = 0; f < config_.fields.size(); ++f) {
    if (lookup.indices[f].size() != batch.fields[f].ids.size()) {
      return InvalidArgument("model: the lookup is not of this batch; make it with LookUp");
    }
  }
  if (logits.size() != batch.size) {
    return InvalidArgument("model: room for {} logits, the batch has {} samples", logits.size(),
                           batch.size);
  }
  return CheckShapes("parameters", dense_tensors_, tables_, lookup, parameters);
}

absl::Status Dlrm::CheckGradients(const Lookup& lookup, const ModelGradients& gradients) const {
  return CheckShapes("gradients", dense_tensors_, tables_, lookup, gradients);
}

std::span<const std::span<const float>> Dlrm::BottomOf(const ModelParameters& parameters) const {
  return std::span(parameters.dense).first(2 * bottom_.layers());
}

std::span<const std::span<const float>> Dlrm::TopOf(const ModelParameters& parameters) const {
  return std::span(parameters.dense).subspan(2 * bottom_.layers());
}

// --- The model --------------------------------------------------------------------------------

void Dlrm::EnqueueForward(const Batch& batch, const Lookup& lookup,
                          const ModelParameters& parameters, const Activations& a,
                          std::span<float> logits) {
  const size_t pairs = PairCount(VectorCount(config_));
  for (size_t f = 0; f < config_.fields.size(); ++f) {
    const size_t table = table_of_field_[f];
    const ConstMatrix rows(parameters.rows[table], lookup.keys[table].size(), config_.dim);
    embedding_ops_.Pool(stream_, config_.fields[f].pooling, BagsOf(batch, lookup, f), rows,
                        FieldColumns(a, f));
  }
  if (has_bottom()) {
    const ConstMatrix dense(batch.dense, batch.size, batch.dense_count);
    bottom_.Forward(stream_, dense_ops_, dense, BottomOf(parameters), a.bottom);
    dense_ops_.Copy(stream_, a.bottom.back(), a.top_input.Columns(0, config_.dim));
  }
  embedding_ops_.Interact(stream_, config_.dim, a.vectors,
                          a.top_input.Columns(a.top_input.cols - pairs, pairs));
  top_.Forward(stream_, dense_ops_, a.top_input, TopOf(parameters), a.top);
  dense_ops_.Copy(stream_, a.top.back(), Matrix(logits, batch.size, 1));
}

void Dlrm::EnqueueBackward(const Batch& batch, const Lookup& lookup,
                           const ModelParameters& parameters, const ModelGradients& gradients,
                           const Activations& a, const Activations& da) {
  const std::span<const std::span<float>> dense(gradients.dense);
  const size_t pairs = PairCount(VectorCount(config_));
  top_.Backward(stream_, dense_ops_, a.top_input, TopOf(parameters), a.top, da.top,
                dense.subspan(2 * bottom_.layers()), da.top_input);
  if (has_bottom()) {
    dense_ops_.Fill(stream_, 0, da.vectors);
    dense_ops_.Copy(stream_, da.top_input.Columns(0, config_.dim), da.bottom.back());
  }
  embedding_ops_.InteractGradient(stream_, config_.dim, a.vectors,
                                  da.top_input.Columns(da.top_input.cols - pairs, pairs),
                                  da.vectors);
  for (size_t t = 0; t < tables_.size(); ++t) {
    dense_ops_.Fill(stream_, 0, Matrix(gradients.rows[t], lookup.keys[t].size(), config_.dim));
  }
  for (size_t f = 0; f < config_.fields.size(); ++f) {
    const size_t table = table_of_field_[f];
    embedding_ops_.PoolGradient(
        stream_, config_.fields[f].pooling, BagsOf(batch, lookup, f), FieldColumns(da, f),
        Matrix(gradients.rows[table], lookup.keys[table].size(), config_.dim));
  }
  if (!has_bottom()) return;
  const ConstMatrix input(batch.dense, batch.size, batch.dense_count);
  bottom_.Backward(stream_, dense_ops_, input, BottomOf(parameters), a.bottom, da.bottom,
                   dense.first(2 * bottom_.layers()), Matrix());
}

absl::Status Dlrm::Predict(const Batch& batch, const Lookup& lookup,
                           const ModelParameters& parameters, std::span<float> logits) {
  RETURN_IF_ERROR(CheckSizes(batch, lookup, parameters, logits));
  PrepareArena(batch.size);
  const Activations a = MakeActivations(batch.size);
  EnqueueForward(batch, lookup, parameters, a, logits);
  stream_.Synchronize();
  return absl::OkStatus();
}

absl::StatusOr<double> Dlrm::Train(const Batch& batch, const Lookup& lookup,
                                   const ModelParameters& parameters,
                                   const ModelGradients& gradients, std::span<float> logits) {
  RETURN_IF_ERROR(CheckSizes(batch, lookup, parameters, logits));
  RETURN_IF_ERROR(CheckGradients(lookup, gradients));
  PrepareArena(batch.size);
  const Activations a = MakeActivations(batch.size);
  const Activations da = MakeActivations(batch.size);
  EnqueueForward(batch, lookup, parameters, a, logits);
  double loss = 0;
  const std::span<float> logit_gradient(da.top.back().data, batch.size);
  dense_ops_.BceWithLogits(stream_, LossReduction::kSum, logits, batch.labels, &loss,
                           logit_gradient);
  EnqueueBackward(batch, lookup, parameters, gradients, a, da);
  stream_.Synchronize();
  return loss;
}

}  // namespace syncline

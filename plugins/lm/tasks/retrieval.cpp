// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/retrieval.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "lm/metrics/real_rows.h"
#include "lm/metrics/retrieval_recall.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

// Far below any product, so that a softmax gives it nothing.
constexpr float kNoCandidate = -1e30F;

}  // namespace

void RetrievalConfig::validate(Diagnostics& diagnostics) const {
  TextTaskConfig::validate(diagnostics);
  for (std::size_t i = 0; i < recall_at.size(); ++i) {
    const std::string path = "recall_at[" + std::to_string(i) + "]";
    if (recall_at[i] < 1) diagnostics.add(path, "is not at least 1");
    const auto end = recall_at.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(recall_at.begin(), end, recall_at[i]) != end) {
      diagnostics.add(path, "has " + std::to_string(recall_at[i]) + " twice");
    }
  }
}

Retrieval::Retrieval(const Config& config, TaskContext& context)
    : TextTask(config, context),
      logit_scale_(static_cast<float>(config.logit_scale)),
      margin_(static_cast<float>(config.margin)),
      bidirectional_(config.bidirectional),
      recall_at_(config.recall_at) {}

std::unique_ptr<Input> Retrieval::build_inputs(const ConfigOf<Input>& config,
                                               InputContext& context) {
  if (context.phase == Phase::training && config.fields().integer_or("batch_size", 0) == 1) {
    throw ConfigError(Diagnostic{.path = context.name + ".batch_size",
                                 .what = "is 1, and a pair learns from the others of its batch",
                                 .hint = "set it to 2 or more"});
  }
  return TextTask::build_inputs(config, context);
}

WeightedScalar Retrieval::build_losses(const Batch& batch, const NestedMap& outputs,
                                       const FpropContext& context) {
  const Tensor &left = outputs.at("left"), &right = outputs.at("right");
  const std::int64_t rows = left.dim(0);
  const std::vector<float> weights = row_weights(batch, rows);
  std::vector<float> margins(static_cast<std::size_t>(rows * rows), 0.0F);
  std::vector<float> candidates;
  std::vector<std::int32_t> own(static_cast<std::size_t>(rows));
  std::iota(own.begin(), own.end(), 0);
  for (std::size_t i = 0; i < own.size(); ++i) {
    margins[i * own.size() + i] = margin_;
    candidates.push_back(weights[i] == 0 ? kNoCandidate : 0.0F);
  }
  const auto on_device = [&](const auto& values, const Shape& shape) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    return Tensor::from<T>(left.device(), values, shape);
  };
  const Tensor products =
      ops::sub(ops::matmul(left, right, {.transpose_b = true}), on_device(margins, {rows, rows}));
  const Tensor logits = ops::mul(products, logit_scale_);
  const Tensor hidden = on_device(candidates, {1, rows}), labels = on_device(own, {rows}),
               real = on_device(weights, {rows});
  const auto loss_of = [&](const Tensor& scores) {
    return ops::weighted_mean(ops::softmax_cross_entropy(ops::add(scores, hidden), labels), real);
  };
  Tensor loss = loss_of(logits);
  if (bidirectional_) {
    loss = ops::add(loss, loss_of(ops::contiguous(ops::transpose(logits, {1, 0}))));
  }
  return {add_aux_losses(std::move(loss), context),
          std::accumulate(weights.begin(), weights.end(), 0.0)};
}

Metrics Retrieval::build_metrics(Phase) {
  Metrics metrics;
  metrics.push_back(std::make_unique<RetrievalRecall>(
      recall_at_, bidirectional_ ? RetrievalRecall::Sides::both : RetrievalRecall::Sides::left));
  return metrics;
}

ExpectedInitialLoss::Range Retrieval::expected_initial_loss() const {
  return {0, std::numeric_limits<double>::infinity(),
          "a loss that depends on the size of the batch"};
}

const void* Retrieval::extension(std::string_view id) const noexcept {
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return TextTask::extension(id);
}

std::vector<Value> Retrieval::predictions(const Batch& batch, const NestedMap& outputs) const {
  const Tensor& left = outputs.at("left");
  const HostArray<float> l(left);
  const std::int64_t rows = left.dim(0), dims = left.dim(1);
  const std::vector<float> weights = row_weights(batch, rows);
  const Tensor* right = outputs.find("right");
  const std::vector<std::int64_t> ranks =
      right != nullptr ? ranks_of_pairs(left, *right, weights) : std::vector<std::int64_t>();
  std::optional<HostArray<float>> r;
  if (right != nullptr) r.emplace(*right);
  std::vector<Value> columns(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    if (weights[i] == 0) continue;
    const float* const a = l.data() + row * dims;
    if (!r) {
      columns[i] = Value::table({{"embedding", Value::array_of(std::vector<double>(a, a + dims))}});
      continue;
    }
    columns[i] =
        Value::table({{"score", std::inner_product(a, a + dims, r->data() + row * dims, 0.0)},
                      {"rank", ranks[i] + 1}});
  }
  return columns;
}

}  // namespace trivet::lm

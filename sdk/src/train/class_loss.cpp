// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/class_loss.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"
#include "trivet/ops/tempered_softmax.h"
#include "trivet/train/predictions.h"

namespace trivet {
namespace {

void check_shapes(const Tensor& label, const Tensor& logits, const ClassLossOptions& options,
                  std::string_view owner) {
  const std::string start = std::string(owner) + ": ";
  if (logits.rank() != 2) {
    throw Error(start + "expected logits [B, classes] from the model, got " + logits.to_string());
  }
  const bool is_dense = label.rank() == 2 && label.dtype() == DType::f32 &&
                        label.dim(0) == logits.dim(0) && label.dim(1) == logits.dim(1);
  const bool is_number =
      label.rank() == 1 && label.dtype() == DType::i32 && label.dim(0) == logits.dim(0);
  if (options.multi_label && !is_dense) {
    throw Error(start + "several labels need label f32 " + logits.shape().to_string() +
                " in batches, got " + label.to_string());
  }
  if (!is_dense && !is_number) {
    throw Error(start + "expected label i32 [B] or f32 [B, classes] for logits " +
                logits.to_string() + ", got " + label.to_string());
  }
  if (!options.class_weights.empty() && std::ssize(options.class_weights) != logits.dim(1)) {
    throw Error(start + std::to_string(options.class_weights.size()) + " class weights for " +
                std::to_string(logits.dim(1)) + " classes");
  }
}

// f32 [B, C]: 1 at the label. A label below 0 is none of the classes.
Tensor one_hot(const Tensor& label, const Tensor& logits, std::string_view owner) {
  const HostArray<std::int32_t> numbers(label);
  const std::int64_t classes = logits.dim(1);
  Tensor out = Tensor::host(logits.shape());
  const auto shares = out.mutable_span<float>();
  std::ranges::fill(shares, 0.0F);
  for (std::int64_t i = 0; i < label.dim(0); ++i) {
    if (numbers[i] >= classes) {
      throw Error(std::string(owner) + ": label " + std::to_string(numbers[i]) + " of " +
                  std::to_string(classes) + " classes");
    }
    if (numbers[i] >= 0) shares[static_cast<std::size_t>(i * classes + numbers[i])] = 1;
  }
  return out.to(logits.device());
}

Tensor smoothed(const Tensor& shares, float smoothing, float target) {
  if (smoothing == 0) return shares;
  return ops::add(ops::mul(shares, 1 - smoothing), smoothing * target);
}

// The weight of each example, f32 [B] on the host, from its own and those of its classes.
Tensor example_weights(const Batch& batch, std::span<const double> class_weights) {
  const Tensor& label = batch.at("label");
  Tensor out = Tensor::host({label.dim(0)});
  const auto weights = out.mutable_span<float>();
  std::ranges::fill(weights, 1.0F);
  if (const Tensor* own = batch.find("weight")) {
    const HostArray<float> values(*own);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = values.data()[i];
  }
  const std::size_t classes = class_weights.size();
  if (label.rank() == 1) {
    const HostArray<std::int32_t> numbers(label);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::int64_t number = numbers.data()[i];
      // The loss rejects labels that are too large, and ignores those below 0.
      const bool is_class = number >= 0 && number < std::ssize(class_weights);
      weights[i] *=
          is_class ? static_cast<float>(class_weights[static_cast<std::size_t>(number)]) : 0.0F;
    }
    return out;
  }
  const HostArray<float> shares(label);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      sum += class_weights[c] * static_cast<double>(shares.data()[i * classes + c]);
    }
    weights[i] *= static_cast<float>(sum);
  }
  return out;
}

Tensor softmax_loss(const Tensor& label, const Tensor& logits, float smoothing) {
  if (label.rank() == 1) {
    return ops::softmax_cross_entropy(logits, label, {.label_smoothing = smoothing});
  }
  const Tensor shares = smoothed(label, smoothing, 1.0F / static_cast<float>(logits.dim(1)));
  return ops::neg(ops::sum(ops::mul(shares, ops::log_softmax(logits)), 1));
}

Tensor sigmoid_loss(const Tensor& label, const Tensor& logits, const ClassLossOptions& options,
                    std::string_view owner) {
  const Tensor dense = label.rank() == 1 ? one_hot(label, logits, owner) : label;
  const Tensor shares = smoothed(dense, options.label_smoothing, 0.5F);
  Tensor terms = ops::sub(ops::softplus(logits), ops::mul(shares, logits));
  if (options.multi_label && !options.class_weights.empty()) {
    const std::vector<float> weights(options.class_weights.begin(), options.class_weights.end());
    terms = ops::mul(terms, Tensor::from<float>(logits.device(), weights, {logits.dim(1)}));
  }
  return ops::mean(terms, 1);
}

double tempered_log(double u, double t) {
  return t == 1 ? std::log(u) : (std::pow(u, 1 - t) - 1) / (1 - t);
}

// log_t of exp(x)
Tensor tempered_log_of_exp(const Tensor& x, double t) {
  if (t == 1) return x;
  const Tensor power = ops::exp(ops::mul(x, static_cast<float>(1 - t)));
  return ops::mul(ops::add(power, -1.0F), static_cast<float>(1 / (1 - t)));
}

// The part of the bi-tempered loss that depends on the labels alone, f32 [B].
Tensor label_part(const Tensor& shares, double t1) {
  const HostArray<float> values(shares);
  const std::int64_t classes = shares.dim(1);
  Tensor out = Tensor::host({shares.dim(0)});
  const auto parts = out.mutable_span<float>();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto p = static_cast<double>(values[static_cast<std::int64_t>(i) * classes + c]);
      if (p > 0) sum += p * tempered_log(p, t1) - std::pow(p, 2 - t1) / (2 - t1);
    }
    parts[i] = static_cast<float>(sum);
  }
  return out.to(shares.device());
}

Tensor bi_tempered_loss(const Tensor& label, const Tensor& logits, const ClassLossOptions& options,
                        std::string_view owner) {
  const Tensor dense = label.rank() == 1 ? one_hot(label, logits, owner) : label;
  const Tensor shares =
      smoothed(dense, options.label_smoothing, 1.0F / static_cast<float>(logits.dim(1)));
  const Tensor log_q = ops::tempered_log_softmax(logits, options.t2);
  const double power = 2 - options.t1;
  const Tensor fit = ops::sum(ops::mul(shares, tempered_log_of_exp(log_q, options.t1)), 1);
  const Tensor mass = ops::mul(ops::sum(ops::exp(ops::mul(log_q, static_cast<float>(power))), 1),
                               static_cast<float>(1 / power));
  // A label that is none of the classes has no loss.
  const Tensor own_mass = ops::mul(mass, ops::sum(dense, 1));
  return ops::add(ops::sub(own_mass, fit), label_part(shares, options.t1));
}

Tensor each_loss(const Tensor& label, const Tensor& logits, const ClassLossOptions& options,
                 std::string_view owner) {
  switch (options.loss) {
    case ClassLoss::softmax:
      return softmax_loss(label, logits, options.label_smoothing);
    case ClassLoss::sigmoid:
      return sigmoid_loss(label, logits, options, owner);
    case ClassLoss::bi_tempered:
      return bi_tempered_loss(label, logits, options, owner);
  }
  throw Error(std::string(owner) + ": unknown loss");
}

}  // namespace

WeightedScalar class_loss(const Batch& batch, const Tensor& logits, const ClassLossOptions& options,
                          std::string_view owner) {
  const Tensor& label = batch.at("label");
  check_shapes(label, logits, options, owner);
  const Tensor each = each_loss(label, logits, options, owner);
  if (options.multi_label || options.class_weights.empty()) {
    const Tensor* weights = batch.find("weight");
    return {ops::weighted_mean(each, weights != nullptr ? *weights : Tensor()),
            sum_of_weights(batch)};
  }
  const Tensor weights = example_weights(batch, options.class_weights);
  double sum = 0;
  for (const float weight : weights.span<float>()) sum += static_cast<double>(weight);
  return {ops::weighted_mean(each, weights.to(logits.device())), sum};
}

}  // namespace trivet

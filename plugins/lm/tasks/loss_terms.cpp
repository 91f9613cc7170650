// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/loss_terms.h"

#include <string_view>
#include <utility>

#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::lm {
namespace {

const Tensor& scalar_of(const NestedMap& outputs, const std::string& name) {
  const Tensor* found = outputs.find(name);
  if (found != nullptr && found->size() == 1) return *found;
  std::string scalars;
  for (const auto& [path, tensor] : outputs) {
    if (tensor.size() == 1) scalars += (scalars.empty() ? "" : ", ") + path;
  }
  throw UsageError(
      "task.losses: the model returns no scalar '" + name + "'",
      {.hint = "the model returns " + (scalars.empty() ? std::string("none") : scalars)});
}

constexpr std::string_view kSavedState = "the saved state of the loss means";

}  // namespace

Tensor sum_of(const std::vector<LossTerm>& terms, const NestedMap& outputs) {
  Tensor sum;
  for (const LossTerm& term : terms) {
    const Tensor& value = scalar_of(outputs, term.name);
    const Tensor share =
        term.weight == 1 ? value : ops::mul(value, static_cast<float>(term.weight));
    sum = sum.defined() ? ops::add(sum, share) : share;
  }
  return sum;
}

LossTermMeans::LossTermMeans(const std::vector<LossTerm>& terms) : sums_(terms.size()) {
  for (const LossTerm& term : terms) names_.push_back(term.name);
}

void LossTermMeans::update_state(const Batch&, const NestedMap& outputs) {
  const double weight = outputs.at("total_weight").item();
  if (weight <= 0) return;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    sums_[i] += weight * scalar_of(outputs, names_[i]).item();
  }
  weight_ += weight;
}

Logs LossTermMeans::result() const {
  Logs logs;
  for (std::size_t i = 0; i < names_.size() && weight_ > 0; ++i) {
    logs.set("loss/" + names_[i], sums_[i] / weight_);
  }
  return logs;
}

void LossTermMeans::reset_state() {
  sums_.assign(names_.size(), 0);
  weight_ = 0;
}

Value LossTermMeans::save_state() const {
  Value::Array sums(sums_.begin(), sums_.end());
  return Value::table({{"sums", std::move(sums)}, {"weight", weight_}});
}

void LossTermMeans::restore_state(const Value& state) {
  const Value::Array& sums = state.at("sums", kSavedState).items();
  if (sums.size() != names_.size()) {
    throw Error("loss means: the saved state has other task.losses");
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums_[i] = sums[i].as_float();
  weight_ = state.at("weight", kSavedState).as_float();
}

void LossTermMeans::merge(const Value& state) {
  const std::vector<double> own_sums = sums_;
  const double own_weight = weight_;
  restore_state(state);
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += own_sums[i];
  weight_ += own_weight;
}

}  // namespace trivet::lm

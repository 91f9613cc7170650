// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/retrieval_recall.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lm/metrics/real_rows.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

constexpr const char* kOwner = "the saved state of the recall of pairs";

}  // namespace

std::vector<std::int64_t> ranks_of_pairs(const Tensor& a, const Tensor& b,
                                         const std::vector<float>& weights) {
  const HostArray<float> products(ops::matmul(a, b, {.transpose_b = true}));
  const auto rows = std::ssize(weights);
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t& rank = ranks.emplace_back(-1);
    if (weights[static_cast<std::size_t>(i)] == 0) continue;
    rank = 0;
    const float own = products[i * rows + i];
    for (std::int64_t other = 0; other < rows; ++other) {
      if (other == i || weights[static_cast<std::size_t>(other)] == 0) continue;
      // One that is not a number is not behind, either.
      if (!(products[i * rows + other] < own)) ++rank;
    }
  }
  return ranks;
}

RetrievalRecall::RetrievalRecall(std::vector<std::int64_t> ks, Sides sides) : ks_(std::move(ks)) {
  sides_.push_back({"left", {}});
  if (sides == Sides::both) sides_.push_back({"right", {}});
  RetrievalRecall::reset_state();
}

void RetrievalRecall::count(Counts& counts, const std::vector<std::int64_t>& ranks) const {
  for (std::size_t k = 0; k < ks_.size(); ++k) {
    counts.hits[k] += static_cast<double>(std::ranges::count_if(
        ranks, [&](std::int64_t rank) { return rank >= 0 && rank < ks_[k]; }));
  }
}

void RetrievalRecall::update_state(const Batch& batch, const NestedMap& outputs) {
  const Tensor &left = outputs.at("left"), &right = outputs.at("right");
  const std::vector<float> weights = row_weights(batch, left.dim(0));
  count(sides_[0], ranks_of_pairs(left, right, weights));
  if (sides_.size() > 1) count(sides_[1], ranks_of_pairs(right, left, weights));
  pairs_ +=
      static_cast<double>(std::ranges::count_if(weights, [](float weight) { return weight != 0; }));
}

Logs RetrievalRecall::result() const {
  Logs logs;
  if (pairs_ == 0) return logs;
  for (const Counts& side : sides_) {
    for (std::size_t k = 0; k < ks_.size(); ++k) {
      logs.set(std::string(side.name) + "_recall_at_" + std::to_string(ks_[k]),
               side.hits[k] / pairs_);
    }
  }
  return logs;
}

void RetrievalRecall::reset_state() {
  pairs_ = 0;
  for (Counts& side : sides_) side.hits.assign(ks_.size(), 0);
}

Value RetrievalRecall::save_state() const {
  Value state = Value::table({{"pairs", pairs_}});
  for (const Counts& side : sides_) state.set(side.name, Value::array_of(side.hits));
  return state;
}

void RetrievalRecall::restore_state(const Value& state) {
  reset_state();
  add(state);
}

void RetrievalRecall::merge(const Value& state) {
  add(state);
}

void RetrievalRecall::add(const Value& state) {
  const double pairs = state.at("pairs", kOwner).as_float();
  for (Counts& side : sides_) {
    const Value::Array& hits = state.at(side.name, kOwner).items();
    if (hits.size() != ks_.size()) {
      throw Error(std::string(kOwner) + " has another number of counts");
    }
    for (std::size_t k = 0; k < hits.size(); ++k) side.hits[k] += hits[k].as_float();
  }
  pairs_ += pairs;
}

}  // namespace trivet::lm

// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/permuted_rows.h"

#include <cstddef>
#include <vector>

namespace trivet::data {
namespace {

constexpr std::int32_t kKnown = -2, kLeaked = -1;

}  // namespace

Batch PermutedRows::batch(std::span<const Row> rows) {
  Batch batch = rows_->batch(rows);
  const auto weights = batch.at("weights").span<float>();
  Tensor permutation = Tensor::host(batch.at("weights").shape(), DType::i32);
  const auto orders = permutation.mutable_span<std::int32_t>();
  const std::size_t width = orders.size() / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    order(rows[i], weights.subspan(i * width, width), orders.subspan(i * width, width));
  }
  batch.set("permutation", std::move(permutation));
  return batch;
}

void PermutedRows::order(const Row& row, std::span<const float> weights,
                         std::span<std::int32_t> orders) const {
  const std::size_t length = orders.size();
  if (!rules_) {
    for (std::size_t i = 0; i < length; ++i) orders[i] = weights[i] > 0 ? 0 : kKnown;
    return;
  }
  const RngKey key = RngKey(static_cast<std::uint64_t>(rules_->seed))
                         .fold("permutation")
                         .fold(static_cast<std::uint64_t>(row.epoch))
                         .fold(static_cast<std::uint64_t>(row.row));
  const std::size_t size = rules_->size > 0 ? static_cast<std::size_t>(rules_->size) : length;
  const Permutation permutation(key.fold("order"), size);
  std::vector<float> draws(length);
  random_uniform(key.fold("leak"), 0, 1, draws);
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t begin = i / size * size;
    const auto own = static_cast<std::int32_t>(begin + permutation(i - begin));
    const bool leaks = static_cast<double>(draws[i]) < rules_->leak_ratio;
    const std::int32_t predicted = leaks ? kLeaked : own;
    orders[i] = weights[i] > 0 ? predicted : kKnown;
  }
}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/ngrams.h"

#include <algorithm>

#include "trivet/tensor/random.h"

namespace trivet::lm {
namespace {

// The last `count` tokens, or all if there are fewer.
std::span<const std::int32_t> last_of(std::span<const std::int32_t> tokens, int count) {
  return tokens.last(std::min(tokens.size(), static_cast<std::size_t>(count)));
}

}  // namespace

std::uint64_t Ngrams::key_of(std::span<const std::int32_t> tokens) {
  RngKey key(tokens.size());
  for (const std::int32_t token : tokens) key = key.fold(static_cast<std::uint64_t>(token));
  return key.value();
}

void Ngrams::add(std::span<const std::int32_t> history, std::int32_t token) {
  for (auto seen = last_of(history, order_ - 1);; seen = seen.subspan(1)) {
    const std::uint64_t key = key_of(seen);
    History& entry = histories_[key];
    ++entry.total;
    if (++counts_[RngKey(key).fold(static_cast<std::uint64_t>(token)).value()] == 1) {
      ++entry.different;
    }
    if (seen.empty()) return;
  }
}

double Ngrams::probability(std::span<const std::int32_t> history, std::int32_t token) const {
  const auto longest = last_of(history, order_ - 1);
  double p = 1 / static_cast<double>(vocabulary_);
  for (std::size_t length = 0; length <= longest.size(); ++length) {
    const std::uint64_t key = key_of(longest.last(length));
    const auto entry = histories_.find(key);
    if (entry == histories_.end()) return p;
    const auto count = counts_.find(RngKey(key).fold(static_cast<std::uint64_t>(token)).value());
    const auto seen = static_cast<double>(count != counts_.end() ? count->second : 0);
    const auto total = static_cast<double>(entry->second.total);
    const auto different = static_cast<double>(entry->second.different);
    p = (seen + different * p) / (total + different);
  }
  return p;
}

}  // namespace trivet::lm

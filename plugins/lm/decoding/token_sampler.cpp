// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "trivet/error.h"

namespace trivet::lm {
namespace {

double log_sum_exp(std::span<const float> logits) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const float logit : logits) {
    if (!std::isnan(logit)) largest = std::max(largest, double{logit});
  }
  if (!std::isfinite(largest)) return largest;
  double sum = 0;
  for (const float logit : logits) {
    if (!std::isnan(logit)) sum += std::exp(logit - largest);
  }
  return largest + std::log(sum);
}

// Returns the ids whose logits are not NaN, the `count` largest first, in order.
std::vector<std::int32_t> largest_ids(std::span<const float> logits, std::int64_t count) {
  std::vector<std::int32_t> ids;
  ids.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (!std::isnan(logits[id])) ids.push_back(static_cast<std::int32_t>(id));
  }
  if (ids.empty()) throw Error("the model's logits are NaN: its weights are damaged");
  const auto comes_before = [&](std::int32_t a, std::int32_t b) {
    const float of_a = logits[static_cast<std::size_t>(a)];
    const float of_b = logits[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  const std::size_t kept =
      count > 0 ? std::min(static_cast<std::size_t>(count), ids.size()) : ids.size();
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(),
                    comes_before);
  ids.resize(kept);
  return ids;
}

// `ids` must be sorted by their logits. The likeliest always stays.
void drop_from(std::vector<std::int32_t>& ids, std::span<const float> logits, double lowest) {
  const auto is_below = [&](std::int32_t id) {
    return double{logits[static_cast<std::size_t>(id)]} < lowest;
  };
  const auto first = std::find_if(ids.begin() + 1, ids.end(), is_below);
  ids.erase(first, ids.end());
}

// The same for the likeliest whose probabilities, of those in `ids` or of all, add up to p.
void keep_likeliest(std::vector<std::int32_t>& ids, std::span<const float> logits, double p,
                    bool of_all) {
  if (p >= 1) return;
  const auto weight = [&](std::int32_t id) {
    return std::exp(double{logits[static_cast<std::size_t>(id)]} -
                    double{logits[static_cast<std::size_t>(ids[0])]});
  };
  double total = 0;
  for (const std::int32_t id : ids) total += weight(id);
  if (of_all) {
    total = std::exp(log_sum_exp(logits) - double{logits[static_cast<std::size_t>(ids[0])]});
  }
  double sum = 0;
  std::size_t kept = 0;
  while (kept < ids.size() && (kept == 0 || sum < p * total)) sum += weight(ids[kept++]);
  ids.resize(kept);
}

// The first two are bounds of a logit, so they may follow the choice of the k largest.
std::vector<std::int32_t> candidates(std::span<const float> logits, const DecodeConfig& config) {
  std::vector<std::int32_t> ids = largest_ids(logits, config.k);
  if (config.epsilon_p > 0) {
    drop_from(ids, logits, log_sum_exp(logits) + std::log(config.epsilon_p));
  }
  if (config.min_p > 0) {
    drop_from(ids, logits,
              double{logits[static_cast<std::size_t>(ids[0])]} + std::log(config.min_p));
  }
  keep_likeliest(ids, logits, config.p, config.global_normalize);
  return ids;
}

double gumbel(RngKey key, std::int32_t id) {
  std::uint32_t bits = 0;
  random_bits(key, static_cast<std::uint64_t>(id), {&bits, 1});
  return -std::log(-std::log((bits + 0.5) / 4294967296.0));
}

}  // namespace

std::int32_t choose_token(std::span<const float> logits, const DecodeConfig& config, RngKey key) {
  if (config.temperature == 0) return largest_ids(logits, 1)[0];
  const std::vector<std::int32_t> ids = candidates(logits, config);
  std::int32_t best = ids[0];
  double best_score = -std::numeric_limits<double>::infinity();
  for (const std::int32_t id : ids) {
    const double logit = logits[static_cast<std::size_t>(id)];
    const double score = logit / config.temperature + gumbel(key, id);
    if (score <= best_score) continue;
    best = id;
    best_score = score;
  }
  return best;
}

void guide(std::span<float> logits, std::span<const float> unconditional, double scale) {
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const double without = unconditional[id];
    logits[id] = static_cast<float>(without + scale * (logits[id] - without));
  }
}

void penalize(std::span<float> logits, std::span<const std::int32_t> ids, double penalty) {
  for (const std::int32_t id : ids) {
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = static_cast<float>(logit < 0 ? logit * penalty : logit / penalty);
  }
}

double log_probability(std::span<const float> logits, std::int32_t token) {
  return double{logits[static_cast<std::size_t>(token)]} - log_sum_exp(logits);
}

std::vector<TokenProbability> top_log_probabilities(std::span<const float> logits, std::int64_t n) {
  std::vector<TokenProbability> top;
  if (n < 1) return top;
  const double sum = log_sum_exp(logits);
  for (const std::int32_t id : largest_ids(logits, n)) {
    top.push_back(
        {.id = id, .log_probability = double{logits[static_cast<std::size_t>(id)]} - sum});
  }
  return top;
}

double entropy(std::span<const float> logits) {
  const double sum = log_sum_exp(logits);
  double total = 0;
  for (const float logit : logits) {
    if (std::isnan(logit) || std::isinf(logit)) continue;
    const double log_p = double{logit} - sum;
    total -= std::exp(log_p) * log_p;
  }
  return total;
}

void to_log_probabilities(std::span<const float> logits, std::span<double> out) {
  const double sum = log_sum_exp(logits);
  for (std::size_t id = 0; id < logits.size(); ++id) {
    out[id] = std::isnan(logits[id]) ? -std::numeric_limits<double>::infinity()
                                     : double{logits[id]} - sum;
  }
}

}  // namespace trivet::lm

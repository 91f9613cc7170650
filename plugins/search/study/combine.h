// SPDX-License-Identifier: Apache-2.0
// One value of several objectives, for samplers and stoppers of one. Its goal is that of the first.
//
//   weighted_sum     sum of w v / sum of |w|, v negated where the goal is not that of the first
//   tunas_absolute   q + e |c / o - 1|           Bender et al. (CVPR 2020)
//   mnas_hard        q min((c / o)^e, 1)         Tan et al. (CVPR 2019)
//   mnas_soft        q (c / o)^e                 the same
//
// q is the first objective, which is to be high, and c the second one, the cost, which is to be
// low; o is cost_objective, and e the exponent.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/study/objectives.h"
#include "trivet/config.h"

namespace trivet::search {

enum class CombineMethod { weighted_sum, tunas_absolute, mnas_hard, mnas_soft };
TRIVET_ENUM(CombineMethod, weighted_sum, tunas_absolute, mnas_hard, mnas_soft)

struct CombineConfig {
  CombineMethod method = CombineMethod::weighted_sum;
  std::vector<double> weights{};
  std::optional<double> cost_objective{};
  std::optional<double> exponent{};

  double exponent_or_default() const { return exponent.value_or(-0.07); }
};
TRIVET_CONFIG(
    CombineConfig, trivet::NoBase,
    (method,
     "weighted_sum: of any objectives, in parts of the sum of the absolute weights. Of a quality "
     "(max) and a cost (min): tunas_absolute rewards a cost near cost_objective, mnas_hard "
     "penalizes a higher one, and mnas_soft rewards a lower one, too.",
     required),
    (weights,
     "weighted_sum: of each objective. An objective with another goal than the first one "
     "counts with its sign changed."),
    (cost_objective, "The wanted cost, in units of the second objective. Not of weighted_sum.",
     more_than(0)),
    (exponent, "How much the cost matters, negative. Not of weighted_sum. Default: -0.07.",
     less_than(0)))

// What is wrong with it, at "combine".
void check_combine(const CombineConfig& combine, std::span<const ObjectiveConfig> objectives,
                   Diagnostics& diagnostics);

// NaN for values that have none, such as negative costs.
double combined(const CombineConfig& combine, std::span<const Goal> goals,
                std::span<const double> values);
// "mnas_soft(eval/accuracy, eval/latency_ms)".
std::string combined_name(const CombineConfig& combine,
                          std::span<const ObjectiveConfig> objectives);

}  // namespace trivet::search

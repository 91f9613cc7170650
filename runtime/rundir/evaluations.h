// SPDX-License-Identifier: Apache-2.0
// The standalone evaluations of a run, each in its own directory with config.toml, metrics.jsonl
// and the files of its task: RUN/evals/1, RUN/evals/2, ...
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trivet {

inline constexpr const char* kEvaluationsDirectory = "evals";

// The evaluations of a run, in the order of their numbers. [any-thread]
std::vector<std::filesystem::path> evaluations_of(const std::filesystem::path& run);

// "evals/2  done  step 40  validation_loss 0.2649  accuracy 0.9141", one line each, with its end.
std::string evaluations_text(const std::filesystem::path& run);

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// LogUniform: points drawn at random, each number of the run's config log-uniform in its range.
// Random points cover each range better than a grid of as many points does (Bergstra and Bengio
// 2012, "Random search for hyper-parameter optimization").
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <trivet/launch/sweep_info.h>
#include <trivet/tensor/random.h>

namespace acme {

// [class]
struct LogUniformConfig : trivet::launch::SweepInfoConfig {
  trivet::Map<std::vector<double>> ranges;
  std::int64_t points = 10;
  std::int64_t seed = 0;

  void validate(trivet::Diagnostics& diagnostics) const {
    for (const auto& [path, range] : ranges) {
      if (range.size() == 2 && 0 < range[0] && range[0] < range[1]) continue;
      diagnostics.add("ranges", "'" + path + "' is not two positive numbers, the lower one first",
                      "write \"trainer.learning_rate\" = [1e-4, 1e-1]");
    }
  }
};
TRIVET_CONFIG(LogUniformConfig, trivet::launch::SweepInfoConfig,
              (ranges, "The lower and the upper end, by path in the run's config.", required),
              (points, "Number of work units.", at_least(1), at_most(100000)),
              (seed, "Another seed draws other points."))

class LogUniform final : public trivet::launch::SweepInfo {
 public:
  using Config = LogUniformConfig;

  LogUniform(const Config& config, const trivet::launch::SweepContext&) : config_(config) {}

  // Every number has its own key, so a range that is added does not change the others.
  std::vector<trivet::launch::SweepItem> items() const override {
    const trivet::RngKey key(static_cast<std::uint64_t>(config_.seed));
    std::vector<trivet::launch::SweepItem> items(static_cast<std::size_t>(config_.points));
    for (trivet::launch::SweepItem& item : items) item.target = trivet::launch::SweepTarget::config;
    for (const auto& [path, range] : config_.ranges) {
      std::vector<float> drawn(items.size());
      trivet::random_uniform(key.fold(path), 0, 1, drawn);
      for (std::size_t i = 0; i < items.size(); ++i) {
        const double value = range[0] * std::pow(range[1] / range[0], drawn[i]);
        items[i].args.emplace_back(path, value);
      }
    }
    return items;
  }

  std::vector<std::string> tags() const override { return {"random"}; }

 private:
  Config config_;
};
// [/class]

}  // namespace acme

// SPDX-License-Identifier: Apache-2.0
// The confusion matrix of one evaluation: counts of labels and predictions. Its size is the square
// of the number of classes, so that number is limited.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "trivet/task.h"
#include "trivet/train/logs.h"
#include "trivet/train/predictions.h"

namespace trivet::vision {

class ConfusionMatrix final : public AggregatedLogs {
 public:
  static constexpr std::int64_t kMostClasses = 2048;  // 32 MiB of counts

  // Throws Error for more classes than the limit.
  explicit ConfusionMatrix(std::int64_t classes);
  // Throws Error if predictions have another number of classes.
  void add(const Predictions& predictions);

  // Means over the classes that occur: "macro_precision" (0 for a class that is never predicted)
  // and "macro_recall".
  Logs summary() const;
  // Rows are labels, columns predictions, with a header line. Replaces the file atomically.
  void write_csv(const std::filesystem::path& file) const;

  Value save_state() const override;
  // Throws Error if the state has another number of classes.
  void merge(const Value& state) override;

 private:
  double& at(std::int64_t label, std::int64_t predicted) {
    return counts_[static_cast<std::size_t>(label * classes_ + predicted)];
  }
  double count(std::int64_t label, std::int64_t predicted) const {
    return counts_[static_cast<std::size_t>(label * classes_ + predicted)];
  }

  std::int64_t classes_;
  std::vector<double> counts_;
};

}  // namespace trivet::vision

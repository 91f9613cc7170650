// SPDX-License-Identifier: Apache-2.0
// MeasurementReader: follows one number in the metrics.jsonl of a running job.
//
//   UnitCurve curve(unit.directory, parse_objective("accuracy"));
//   curve.update();
//   use(curve.measurements());
//
//   {"step": 100, "kind": "eval", "values": {"accuracy": 0.9}}     a record of a run
//   {"step": 100, "accuracy": 0.9}                                 the same
//
// The rates of a record are numbers, too: steps_per_second, num_params.
//
// UnitCurve: the same for all files that the jobs of a unit write. The files belong to other
// programs, so lines that are not records are skipped. A run that continues from a checkpoint drops
// the records of later steps and writes them again; they are replaced here, too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/search/metric_pattern.h"
#include "trivet/search/trial.h"

namespace trivet::search {

// Selects a number in metrics.jsonl: NAME in the `values` or `rates` of records of a kind.
struct Objective {
  std::string kind, name;
  std::string run{};  // directory in the unit's that the file is in; empty: the unit's own
  // Makes one number of those whose names fit `name` (metric_pattern.h).
  std::optional<Aggregate> aggregate{};
};
// "accuracy" and "eval/accuracy": from evaluations; "train/training_loss": from training.
// "small:accuracy", "small:train/training_loss": of the run in the directory `small` of the unit,
// where the part before the colon has letters, digits, '_' and '-' only. "mean(eval/*/accuracy)",
// "small:max(loss/*)": of all numbers that fit. A * elsewhere has no meaning.
Objective parse_objective(std::string_view text);
// "eval/accuracy", "small:train/training_loss", "small:mean(eval/*/accuracy)".
std::string text_of(const Objective& objective);

class MeasurementReader {
 public:
  MeasurementReader(std::filesystem::path file, Objective objective);

  // Reads new lines; returns whether the measurements changed. A missing file has none. Throws
  // RunError if the file cannot be read.
  bool update();
  // By step, one per step. A record without a finite number is NaN.
  const std::vector<Measurement>& measurements() const { return measurements_; }

 private:
  bool take(std::string_view line);
  // Nothing where the record has none.
  std::optional<double> number_in(const Value& record) const;

  std::filesystem::path file_;
  Objective objective_;
  std::string literal_;  // in every line with the number
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0;  // end of the last complete line
  std::vector<Measurement> measurements_;
};

class UnitCurve {
 public:
  UnitCurve(const std::filesystem::path& unit, const Objective& objective);

  bool update();
  const std::vector<Measurement>& measurements() const { return measurements_; }

 private:
  std::vector<MeasurementReader> readers_;
  std::vector<Measurement> measurements_;
};

// The files that may have the number.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& unit,
                                            const Objective& objective);

// "eval/accuracy", "train/training_loss", ...: the numbers in the last records of a run, for
// messages. Unreadable files have none.
std::vector<std::string> numbers_seen(const std::filesystem::path& run);

}  // namespace trivet::search

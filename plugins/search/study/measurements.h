// SPDX-License-Identifier: Apache-2.0
//
// MeasurementReader: follows one number through the metrics.jsonl of a run that goes on meanwhile.
//
//   UnitCurve curve(unit.directory, parse_objective("accuracy"));
//   curve.update();
//   use(curve.measurements());
//
//   {"step": 100, "kind": "eval", "values": {"accuracy": 0.9}}     a record of a run
//   {"step": 100, "accuracy": 0.9}                                 the same
//
// UnitCurve: the same of all files in which jobs of a unit measure. The file belongs to another
// program: lines that are no records are left out. A run that continues from a checkpoint drops the
// records of later steps and writes them anew; they are replaced here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "trivet/search/trial.h"

namespace trivet::search {

// Which number of metrics.jsonl: the `values` NAME of records of a kind.
struct Objective {
  std::string kind, name;
};
// "accuracy" and "eval/accuracy": of evaluations; "train/training_loss": of training records.
Objective parse_objective(std::string_view text);

class MeasurementReader {
 public:
  MeasurementReader(std::filesystem::path file, Objective objective);

  // Reads what is new; true when that changed the measurements. A file that is not there has none.
  // Throws RunError when it cannot be read.
  bool update();
  // By step, each step once. A record without a finite number is NaN.
  const std::vector<Measurement>& measurements() const { return measurements_; }

 private:
  bool take(std::string_view line);

  std::filesystem::path file_;
  Objective objective_;
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0;  // behind the last whole line
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

// "eval/accuracy", "train/training_loss", ...: the numbers in the last records of a unit, for
// people. Of files that cannot be read there are none.
std::vector<std::string> numbers_seen(const std::filesystem::path& unit);

}  // namespace trivet::search

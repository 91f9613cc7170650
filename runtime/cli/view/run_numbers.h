// SPDX-License-Identifier: Apache-2.0
// Finds metrics of runs by the names that users type.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rundir/metrics_reader.h"

namespace trivet {

// "accuracy" means training, evaluation or both; "train/accuracy" and "eval/accuracy" mean one.
struct NumberName {
  std::optional<RecordKind> kind;
  std::string name;
  bool fits(RecordKind of, std::string_view number) const {
    return name == number && (!kind || *kind == of);
  }
};
NumberName parse_number_name(std::string_view text);

// Searches values and rates, first of the evaluation. Returns null if the name is missing.
const double* find_number(const LastRecords& records, std::string_view name);

}  // namespace trivet

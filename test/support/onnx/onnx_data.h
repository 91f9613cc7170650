// SPDX-License-Identifier: Apache-2.0
// The data sets of ONNX's backend tests (Debian's libonnx-testdata): a model, its inputs and its
// expected outputs.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "onnx_model.h"

namespace trivet::test::onnx {

// A data set needs an unsupported operator, attribute or type. Any other exception is a failure.
struct NoCounterpart : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct DataSet {
  std::string name;
  Model model;
  std::vector<Array> inputs, outputs;
};

// All data sets whose operators `knows` accepts and whose values are numeric tensors. Warns and
// returns none if the package is not installed.
std::vector<DataSet> data_sets(const std::function<bool(const std::string& op)>& knows);

// The error of an output; empty if it matches.
std::string difference(const std::vector<std::int64_t>& dims, const std::vector<double>& values,
                       const Array& want);

}  // namespace trivet::test::onnx

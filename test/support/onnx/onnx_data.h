// SPDX-License-Identifier: Apache-2.0
// The data sets of ONNX's backend tests (Debian's libonnx-testdata): a model, its inputs and what
// it must give.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "onnx_model.h"

namespace trivet::test::onnx {

// What a data set asks for is not there: an operator, an attribute, a type. Any other exception is
// a failure.
struct NoCounterpart : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct DataSet {
  std::string name;
  Model model;
  std::vector<Array> inputs, outputs;
};

// All whose operators `knows` names and whose values are tensors of numbers. Warns, and gives none,
// where the package is not installed.
std::vector<DataSet> data_sets(const std::function<bool(const std::string& op)>& knows);

// What is wrong with an output; empty when nothing is.
std::string difference(const std::vector<std::int64_t>& dims, const std::vector<double>& values,
                       const Array& want);

}  // namespace trivet::test::onnx

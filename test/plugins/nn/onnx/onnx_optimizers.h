// SPDX-License-Identifier: Apache-2.0
// ONNX's training operators out of the optimizers of plugin optim.
#pragma once

#include <map>
#include <string>

#include "support/onnx/onnx_data.h"

namespace trivet::test::onnx {

bool is_optimizer(const std::string& op);
// By the names of the outputs. The one node of the model is an optimizer.
std::map<std::string, Array> run_optimizer(const DataSet& set, const std::string& backend);

}  // namespace trivet::test::onnx

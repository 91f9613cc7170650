// SPDX-License-Identifier: Apache-2.0
// ONNX's training operators implemented by optimizers of plugin optim.
#pragma once

#include <map>
#include <string>

#include "support/onnx/onnx_data.h"

namespace trivet::test::onnx {

bool is_optimizer(const std::string& op);
// Keyed by output name. The only node of the model must be an optimizer.
std::map<std::string, Array> run_optimizer(const DataSet& set, const std::string& backend);

}  // namespace trivet::test::onnx

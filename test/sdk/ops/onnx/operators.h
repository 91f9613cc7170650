// SPDX-License-Identifier: Apache-2.0
// ONNX operators implemented by trivet's ops, for the data sets of ONNX's backend tests. An
// operator, attribute or type without a counterpart throws NoCounterpart; any other exception is a
// failure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/onnx/onnx_data.h"
#include "trivet/ops.h"

namespace trivet::test::onnx {

struct Call {
  const Node& node;
  std::vector<Tensor> inputs;
  Device& device;
  std::int64_t opset;

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].defined(); }
  // Input i, which must be f32.
  const Tensor& f32(std::size_t i = 0) const;
  const Tensor& any(std::size_t i = 0) const;
  Tensor optional_f32(std::size_t i) const { return has(i) ? f32(i) : Tensor(); }
  std::vector<std::int64_t> integers(std::size_t i) const;
  // The numbers of an attribute, or of input i in later versions.
  std::vector<std::int64_t> integers(const std::string& attribute, std::size_t i) const;
  Tensor constant(float value) const {
    return Tensor::full(device, {}, static_cast<double>(value));
  }
  Tensor of_integers(const std::vector<std::int64_t>& values) const;
};

using Outputs = std::vector<Tensor>;
using Operator = std::function<Outputs(const Call&)>;
using Operators = std::map<std::string, Operator>;

// Keyed by the name in ONNX.
const Operators& operators();
void add_elementwise(Operators& all);
void add_forms(Operators& all);
void add_indices(Operators& all);
void add_reductions(Operators& all);
void add_windows(Operators& all);
void add_losses(Operators& all);

Tensor to_device(Device& device, const Array& array);
// Axes in any order: x.transpose of a vector.
Tensor permuted(const Tensor& x, const std::vector<int>& axes);
Shape shape_of(const std::vector<std::int64_t>& extents);
std::vector<std::int64_t> extents_of(const Tensor& x);

}  // namespace trivet::test::onnx

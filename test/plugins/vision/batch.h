// SPDX-License-Identifier: Apache-2.0
// Explicit batches, outputs and logs of classifiers, on the host.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/tensor.h"
#include "trivet/tensor/nested_map.h"
#include "trivet/train/logs.h"

namespace trivet::test {

template <class T>
Tensor host_tensor(const std::vector<T>& values, const Shape& shape) {
  Tensor tensor = Tensor::host(shape, dtype_of<T>);
  tensor.assign_bytes(std::as_bytes(std::span<const T>(values)));
  return tensor;
}

// {"label"} and, if given, {"weight"}.
inline Batch labels(const std::vector<std::int32_t>& label, const std::vector<float>& weight = {}) {
  Batch batch{{"label", host_tensor(label, {static_cast<std::int64_t>(label.size())})}};
  if (!weight.empty()) {
    batch.set("weight", host_tensor(weight, {static_cast<std::int64_t>(weight.size())}));
  }
  return batch;
}

// {"logits"} with the given classes per row.
inline NestedMap logits(const std::vector<float>& values, std::int64_t classes) {
  const auto rows = static_cast<std::int64_t>(values.size()) / classes;
  return {{"logits", host_tensor(values, {rows, classes})}};
}

// The named number; throws std::logic_error when there is none.
inline double number(const Logs& logs, std::string_view name) {
  const double* found = logs.find(name);
  if (found == nullptr) throw std::logic_error("no number " + std::string(name) + " in the logs");
  return *found;
}

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
#include "step/batch_size.h"

#include <algorithm>

namespace trivet {

BatchSize size_of(const Batch& batch) {
  BatchSize size;
  if (batch.empty()) return size;
  const Tensor& first = batch.begin()->second;
  size.rows = first.rank() == 0 ? 1 : first.dim(0);
  size.examples = size.rows;
  const Tensor* weight = batch.find("weight");
  if (weight == nullptr || !weight->on_host() || weight->dtype() != DType::f32) return size;
  const auto weights = weight->span<float>();
  size.examples = std::count_if(weights.begin(), weights.end(), [](float w) { return w != 0; });
  return size;
}

}  // namespace trivet

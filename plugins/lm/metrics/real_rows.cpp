// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/real_rows.h"

#include <optional>

#include "trivet/ops/host_array.h"

namespace trivet::lm {

std::vector<bool> real_rows(const Batch& batch, std::int64_t rows) {
  std::vector<bool> real;
  std::optional<HostArray<float>> weights;
  if (const Tensor* weight = batch.find("weight")) weights.emplace(*weight);
  for (std::int64_t i = 0; i < rows; ++i) real.push_back(!weights || (*weights)[i] != 0);
  return real;
}

std::vector<float> row_weights(const Batch& batch, std::int64_t rows) {
  std::vector<float> weights;
  for (const bool is_real : real_rows(batch, rows)) weights.push_back(is_real ? 1.0F : 0.0F);
  return weights;
}

}  // namespace trivet::lm

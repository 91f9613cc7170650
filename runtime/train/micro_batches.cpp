// SPDX-License-Identifier: Apache-2.0
#include "train/micro_batches.h"

#include <algorithm>

#include "train/batch_size.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet {

std::vector<Batch> micro_batches(const Batch& batch, std::int64_t parts) {
  const std::int64_t rows = size_of(batch).rows;
  parts = std::min(parts, rows);
  if (parts <= 1) return {batch};
  const NoGrad no_grad;
  std::vector<Batch> out;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t begin = i * rows / parts, end = (i + 1) * rows / parts;
    Batch part;
    for (const auto& [path, tensor] : batch) {
      const bool has_rows = tensor.rank() > 0 && tensor.dim(0) == rows;
      part.set(path, has_rows ? ops::slice(tensor, 0, begin, end) : tensor);
    }
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace trivet

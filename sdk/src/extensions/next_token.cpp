// SPDX-License-Identifier: Apache-2.0
#include "trivet/extensions/next_token.h"

#include <vector>

#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet {

Tensor NextToken::all_logits(const Tensor& ids, LayerCache& cache, FpropContext& context) const {
  const NoGrad no_grad;
  std::vector<Tensor> each;
  for (std::int64_t i = 0; i < ids.dim(1); ++i) {
    const Tensor column = ops::contiguous(ops::slice(ids, 1, i, i + 1));
    const Tensor logits = next_logits(column, &cache, context);
    each.push_back(ops::reshape(logits, {logits.dim(0), 1, logits.dim(1)}));
  }
  return ops::concat(each, 1);
}

}  // namespace trivet

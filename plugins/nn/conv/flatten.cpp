// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/flatten.h"

#include "nn/basic/checks.h"
#include "trivet/ops.h"

namespace trivet::nn {

Flatten::Flatten(const Config&, Scope& scope) : path_(scope.path()) {}

Tensor Flatten::fprop(const Tensor& x, FpropContext&) {
  if (x.rank() == 0) wrong_input("nn/Flatten", path_, "[B, ..]", x);
  std::int64_t rest = 1;  // not -1, so that it is known for an empty batch, too
  for (int axis = 1; axis < x.rank(); ++axis) rest *= x.dim(axis);
  return ops::reshape(x, {x.dim(0), rest});
}

}  // namespace trivet::nn

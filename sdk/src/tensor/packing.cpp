// SPDX-License-Identifier: Apache-2.0
#include "tensor/packing.h"

#include <algorithm>

#include "trivet/error.h"
#include "trivet/tensor/device.h"

namespace trivet::detail {

void fill(Tensor& x, double value) {
  Device& device = x.device();
  const tv_view view = x.mutable_view();
  device.call("fill", &tv_backend::fill, &view, value);
}

void copy_into(const tv_view& to, const Tensor& from) {
  Device& device = from.device();
  const tv_view view = from.view();
  // A backend walks both by one shape: another one would lead it out of its memory.
  if (!std::equal(from.shape().begin(), from.shape().end(), to.shape, to.shape + to.rank)) {
    throw Error("[copy] expected two arrays of one shape, got " + from.to_string() +
                " for one of rank " + std::to_string(to.rank));
  }
  device.call("copy", &tv_backend::copy, &to, &view);
}

Tensor packed(const Tensor& x) {
  if (x.contiguous()) return x;
  const Tensor out = Tensor::empty(x.device(), x.shape(), x.dtype());
  copy_into(out.view(), x);
  return out;
}

}  // namespace trivet::detail

// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/fake_quantization.h"

#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {

FakeQuantization::FakeQuantization(const Config& config, Scope&)
    : largest_(static_cast<float>((std::int64_t{1} << (config.bits - 1)) - 1)) {}

Tensor FakeQuantization::fprop(const Tensor& w, FpropContext&) {
  if (w.size() == 0) return w;
  Tensor error;  // w' - w
  {
    NoGrad no_grad;
    const std::int64_t out = w.rank() > 0 ? w.dim(-1) : 1;
    const Tensor columns = ops::reshape(w, {w.size() / out, out});
    const Tensor most = ops::max(ops::abs(columns), 0);
    // Where all is 0, any scale will do.
    const Tensor zero = Tensor::scalar(w.device(), 0);
    const Tensor one = Tensor::full(w.device(), most.shape(), 1);
    const Tensor scale = ops::mul(ops::where(ops::less(zero, most), most, one), 1 / largest_);
    const Tensor integers = ops::floor(ops::add(ops::div(columns, scale), 0.5F));
    error = ops::sub(ops::reshape(ops::mul(integers, scale), w.shape()), w);
  }
  return ops::add(w, error);
}

}  // namespace trivet::nn

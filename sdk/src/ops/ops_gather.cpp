// SPDX-License-Identifier: Apache-2.0
// Rows of a table, and dropout.
#include <cmath>
#include <vector>

#include "ops/op_support.h"

namespace trivet {
namespace {

void gather_vjp(Vjp& v) {
  if (!v.wants(0)) return;
  Vjp::Target table = v.target(0);
  if (table.beta == 0) detail::fill(table.gradient, 0);
  Device& device = table.gradient.device();
  const std::int64_t width = v.input(0).dim(1);
  const Tensor indices = detail::reshaped(v.saved(0), {v.saved(0).size()});
  const Tensor rows = detail::reshaped(v.grad_output(), {v.saved(0).size(), width});
  const tv_view to = table.gradient.view(), index = indices.view(), from = rows.view();
  device.call("scatter_add_rows", &tv_backend::scatter_add_rows, &to, &index, &from);
}
constexpr OpDef kGather{"gather_rows", gather_vjp};

// ---- dropout

struct Drop {
  std::uint64_t key, offset;
  float rate;
};

tv_dropout arguments(const Tensor& x, const Tensor& out, const Drop& drop) {
  tv_dropout args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.n = x.size();
  args.x = detail::memory(x);
  args.out = detail::memory(out);
  args.key = drop.key;
  args.offset = drop.offset;
  args.p = drop.rate;
  return args;
}

// 0 or 1 / (1 - rate) per element, from the same bits as the kernel's.
Tensor mask_of(Device& device, const Shape& shape, const Drop& drop) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(shape.size()));
  random_bits(RngKey(drop.key), drop.offset, bits);
  const auto threshold =
      static_cast<std::uint32_t>(std::floor(static_cast<double>(drop.rate) * 4294967296.0));
  const float kept = 1 / (1 - drop.rate);
  std::vector<float> mask(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) mask[i] = bits[i] >= threshold ? kept : 0;
  return Tensor::from<float>(device, mask, shape);
}

void dropout_vjp(Vjp& v) {
  const Drop& drop = v.attributes<Drop>();
  const Tensor dy = detail::packed(v.grad_output());
  Device& device = dy.device();
  const Tensor dx = v.may_overwrite_grad_output() ? dy : Tensor::empty(device, dy.shape());
  const tv_dropout args = arguments(dy, dx, drop);
  if (device.try_kernel("dropout", &tv_backend::dropout, &args)) {
    v.add(0, dx);
  } else {
    v.add(0, detail::binary("mul", TV_MUL, dy, mask_of(device, dy.shape(), drop)));
  }
}
constexpr OpDef kDropout{"dropout", dropout_vjp};

}  // namespace

Tensor ops::gather_rows(const Tensor& table, const Tensor& indices) {
  detail::expect("gather_rows", "table", table);
  detail::expect_beside("gather_rows", "indices", indices, table, DType::i32);
  if (table.rank() != 2) detail::wrong("gather_rows", "a table [n, d]", table.to_string());
  Device& device = table.device();
  const Tensor rows = contiguous(table), flat = detail::reshaped(indices, {indices.size()});
  std::vector<std::int64_t> extents(indices.shape().begin(), indices.shape().end());
  extents.push_back(table.dim(1));
  Tensor out = Tensor::empty(device, Shape(extents));
  const Tensor lines = detail::reshaped(out, {indices.size(), table.dim(1)});
  const tv_view to = lines.view(), from = rows.view(), index = flat.view();
  device.call("gather_rows", &tv_backend::gather_rows, &to, &from, &index);
  record(kGather, {rows}, out, {flat});
  return out;
}

Tensor ops::dropout(const Tensor& input, float rate, RngKey key, std::uint64_t offset) {
  detail::expect("dropout", "x", input);
  if (!(rate >= 0 && rate < 1)) detail::wrong("dropout", "0 <= rate < 1", std::to_string(rate));
  if (rate == 0) return input;
  const Tensor x = contiguous(input);
  Device& device = x.device();
  const Drop drop{key.value(), offset, rate};
  Tensor y = Tensor::empty(device, x.shape());
  const tv_dropout args = arguments(x, y, drop);
  if (!device.try_kernel("dropout", &tv_backend::dropout, &args)) {
    y = detail::binary("mul", TV_MUL, x, mask_of(device, x.shape(), drop));
  }
  record(kDropout, {x}, y, {}, drop);
  return y;
}

}  // namespace trivet

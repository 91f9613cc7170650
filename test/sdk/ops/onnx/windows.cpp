// SPDX-License-Identifier: Apache-2.0
// Products, convolution, pooling and normalization. In ONNX channels come before the spatial axes.
#include <algorithm>
#include <limits>

#include "sdk/ops/onnx/operators.h"
#include "trivet/ops/ops_norm.h"
#include "trivet/ops/ops_volume.h"
#include "trivet/tape.h"

namespace trivet::test::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

// Moves channels to the end; below, back to the front.
Tensor channels_last(const Tensor& x) {
  std::vector<int> order{0};
  for (int i = 2; i < x.rank(); ++i) order.push_back(i);
  order.push_back(1);
  return permuted(x, order);
}
Tensor channels_first(const Tensor& y) {
  std::vector<int> order{0, y.rank() - 1};
  for (int i = 1; i < y.rank() - 1; ++i) order.push_back(i);
  return permuted(y, order);
}

// [N, spatial.., C] with three spatial axes, the missing ones of extent 1 in front.
Tensor as_volume(const Tensor& x) {
  Numbers extents = extents_of(x);
  while (extents.size() < 5) extents.insert(extents.begin() + 1, 1);
  return ops::reshape(x, shape_of(extents));
}

struct Window {
  std::array<std::int64_t, 3> size{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, before{}, after{};
};

std::array<std::int64_t, 3> three(const Numbers& numbers, std::int64_t otherwise) {
  std::array<std::int64_t, 3> all{otherwise, otherwise, otherwise};
  std::copy(numbers.begin(), numbers.end(),
            all.end() - static_cast<std::ptrdiff_t>(numbers.size()));
  return all;
}

// The frame around a volume for which windows without padding match ONNX.
Window window_of(const Call& c, const Numbers& size, const Tensor& volume) {
  Window w{.size = three(size, 1),
           .stride = three(c.node.integers("strides"), 1),
           .dilation = three(c.node.integers("dilations"), 1)};
  Numbers pads = c.node.integers("pads", Numbers(2 * size.size()));
  const auto half = static_cast<std::ptrdiff_t>(size.size());
  w.before = three({pads.begin(), pads.begin() + half}, 0);
  w.after = three({pads.begin() + half, pads.end()}, 0);
  const std::string automatic = c.node.text("auto_pad", "NOTSET");
  if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER") return w;
  for (std::size_t i = 3 - size.size(); i < 3; ++i) {
    const std::int64_t in = volume.dim(static_cast<int>(i) + 1);
    const std::int64_t out = (in + w.stride[i] - 1) / w.stride[i];
    const std::int64_t reach = (w.size[i] - 1) * w.dilation[i] + 1;
    const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * w.stride[i] + reach - in);
    w.before[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.after[i] = total - w.before[i];
  }
  return w;
}

Tensor around(const Tensor& volume, const Window& w, float value) {
  Tensor padded = volume;
  for (int i = 0; i < 3; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    padded = ops::pad(padded, i + 1, w.before[axis], w.after[axis], PadMode::constant, value);
  }
  return padded;
}

Tensor without_leading(const Tensor& volume, int rank) {
  Numbers extents = extents_of(volume);
  while (static_cast<int>(extents.size()) > rank) extents.erase(extents.begin() + 1);
  return ops::reshape(volume, shape_of(extents));
}

VolumeOptions plain(const Window& w, std::int64_t groups = 1) {
  return {.stride = w.stride, .dilation = w.dilation, .padding = Padding::valid, .groups = groups};
}

Tensor convolved(const Call& c) {
  const Tensor &x = c.f32(0), &filters = c.f32(1);
  const Tensor volume = as_volume(channels_last(x));
  const Numbers extents = extents_of(filters);
  const Window w = window_of(c, {extents.begin() + 2, extents.end()}, volume);
  const std::int64_t groups = c.node.integer("group", 1);
  // The filters go in as views: their memory is ONNX's.
  std::vector<int> order;
  for (int i = 2; i < filters.rank(); ++i) order.push_back(i);
  order.insert(order.end(), {1, 0});
  const Tensor turned = permuted(filters, order);
  const bool symmetric = w.before == w.after;
  if (x.rank() == 4) {
    const Tensor image = symmetric ? channels_last(x) : without_leading(around(volume, w, 0), 4);
    const std::array<std::int64_t, 2> pad{w.before[1], w.before[2]};
    return channels_first(ops::conv2d(image, turned, c.optional_f32(2),
                                      {.stride = {w.stride[1], w.stride[2]},
                                       .dilation = {w.dilation[1], w.dilation[2]},
                                       .padding = Padding::explicit_,
                                       .pad = symmetric ? pad : std::array<std::int64_t, 2>{0, 0},
                                       .groups = groups}));
  }
  Numbers kernel = extents_of(turned);
  while (kernel.size() < 5) kernel.insert(kernel.begin(), 1);
  const Tensor y = ops::conv3d(around(volume, w, 0), ops::reshape(turned, shape_of(kernel)),
                               c.optional_f32(2), plain(w, groups));
  return channels_first(without_leading(y, x.rank()));
}

// The gradient of a convolution with respect to its image, less the padding.
Tensor convolved_back(const Call& c) {
  if (c.node.integer("group", 1) != 1) throw NoCounterpart("ConvTranspose in groups");
  const Tensor &x = c.f32(0), &filters = c.f32(1);
  const Tensor from = as_volume(channels_last(x));
  const Numbers extents = extents_of(filters);
  const std::size_t axes = extents.size() - 2, first = 3 - axes;
  Window w = window_of(c, {extents.begin() + 2, extents.end()}, from);
  const auto more = three(c.node.integers("output_padding"), 0);
  const bool automatic = c.node.text("auto_pad", "NOTSET") != "NOTSET";
  Numbers image{from.dim(0)};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t in = from.dim(static_cast<int>(i) + 1);
    image.push_back((in - 1) * w.stride[i] + (w.size[i] - 1) * w.dilation[i] + 1 + more[i]);
    std::int64_t wanted = automatic && i >= first ? in * w.stride[i] : 0;
    if (c.node.has("output_shape") && i >= first) {
      wanted = c.node.integers("output_shape").at(i - first);
    }
    if (wanted == 0) continue;
    const std::int64_t total = std::max<std::int64_t>(0, image.back() - wanted);
    image.back() = std::max(image.back(), wanted);
    const bool upper = c.node.text("auto_pad", "NOTSET") == "SAME_UPPER";
    w.before[i] = upper ? total / 2 : total - total / 2;
    w.after[i] = total - w.before[i];
  }
  image.push_back(filters.dim(1));
  std::vector<int> order;
  for (int i = 2; i < filters.rank(); ++i) order.push_back(i);
  order.insert(order.end(), {1, 0});
  Numbers kernel = extents_of(permuted(filters, order));
  while (kernel.size() < 5) kernel.insert(kernel.begin(), 1);
  GradientSlot slot;
  const Tensor leaf = make_leaf(Tensor::zeros(c.device, shape_of(image)), slot);
  Tape tape;
  Tensor y;
  {
    Tape::Recording recording(tape);
    y = ops::conv3d(leaf, ops::reshape(permuted(filters, order), shape_of(kernel)), {}, plain(w));
  }
  tape.backward(y, from);
  Tensor out = slot.gradient;
  for (int i = 0; i < 3; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    out = ops::slice(out, i + 1, w.before[axis], out.dim(i + 1) - w.after[axis]);
  }
  if (c.has(2)) out = ops::add(out, c.f32(2));
  return channels_first(without_leading(out, x.rank()));
}

Tensor pooled(const Call& c, bool mean) {
  const Tensor& x = c.f32();
  if (c.node.outputs.size() > 1) throw NoCounterpart("indices of pooling");
  if (c.node.integer("ceil_mode", 0) != 0) throw NoCounterpart("pooling with ceil_mode");
  const Tensor volume = as_volume(channels_last(x));
  const Window w = window_of(c, c.node.integers("kernel_shape"), volume);
  const bool counts_padding = c.node.integer("count_include_pad", 0) != 0;
  const bool symmetric = w.before == w.after;
  VolumeOptions options = plain(w);
  Tensor in = volume;
  if (symmetric && !(mean && counts_padding)) {
    options.padding = Padding::explicit_;
    options.pad = w.before;
  } else if (mean && !counts_padding) {
    throw NoCounterpart("a mean of windows with padding on one side");
  } else {
    in = around(volume, w, mean ? 0 : -std::numeric_limits<float>::infinity());
  }
  const Tensor y =
      mean ? ops::avg_pool3d(in, w.size, options) : ops::max_pool3d(in, w.size, options);
  return channels_first(without_leading(y, x.rank()));
}

Tensor global(const Call& c, bool mean) {
  const Tensor& x = c.f32();
  const Tensor flat = ops::reshape(x, {x.dim(0), x.dim(1), -1});
  Numbers extents(static_cast<std::size_t>(x.rank()), 1);
  extents[0] = x.dim(0);
  extents[1] = x.dim(1);
  return ops::reshape(mean ? ops::mean(flat, 2) : ops::max(flat, 2), shape_of(extents));
}

// One number per channel, shaped for x [N, C, ..].
Tensor by_channel(const Tensor& x, const Tensor& values) {
  Numbers extents(static_cast<std::size_t>(x.rank() - 1), 1);
  extents[0] = values.size();
  return ops::reshape(values, shape_of(extents));
}

Outputs batch_normalized(const Call& c) {
  const Tensor& x = c.f32();
  const float epsilon = c.node.number("epsilon", 1e-5F);
  if (c.node.integer("training_mode", 0) == 0) {
    const Tensor factor = ops::mul(ops::rsqrt(ops::add(c.f32(4), epsilon)), c.f32(1));
    const Tensor centered = ops::sub(x, by_channel(x, c.f32(3)));
    return {ops::add(ops::mul(centered, by_channel(x, factor)), by_channel(x, c.f32(2)))};
  }
  const float kept = c.node.number("momentum", 0.9F);
  const BatchNormResult out = ops::batch_norm(channels_last(x), c.f32(1), c.f32(2), epsilon);
  const auto moved = [&](const Tensor& from, const Tensor& to) {
    return ops::add(ops::mul(from, kept), ops::mul(to, 1 - kept));
  };
  return {channels_first(out.y), moved(c.f32(3), out.mean), moved(c.f32(4), out.variance)};
}

Tensor instance_normalized(const Call& c) {
  const Tensor& x = c.f32();
  const Tensor flat = ops::reshape(x, {x.dim(0), x.dim(1), -1});
  const Tensor y = ops::layer_norm(flat, {}, {}, c.node.number("epsilon", 1e-5F));
  const Tensor unit = ops::reshape(y, x.shape());
  return ops::add(ops::mul(unit, by_channel(x, c.f32(1))), by_channel(x, c.f32(2)));
}

Outputs layer_normalized(const Call& c) {
  const Tensor& x = c.f32();
  const int axis = x.shape().index(static_cast<int>(c.node.integer("axis", -1)));
  std::int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= x.dim(i);
  const std::int64_t n = x.size() / rows;
  const auto line = [n](const Tensor& t) { return t.defined() ? ops::reshape(t, {n}) : t; };
  const float epsilon = c.node.number("epsilon", 1e-5F);
  const Tensor flat = ops::reshape(x, {rows, n});
  const Tensor y = ops::layer_norm(flat, line(c.f32(1)), line(c.optional_f32(2)), epsilon);
  Numbers kept = extents_of(x);
  std::fill(kept.begin() + axis, kept.end(), 1);
  const Tensor mean = ops::mean(flat, 1);
  const Tensor spread = ops::mean(ops::square(ops::sub(flat, ops::reshape(mean, {rows, 1}))), 1);
  return {ops::reshape(y, x.shape()), ops::reshape(mean, shape_of(kept)),
          ops::reshape(ops::rsqrt(ops::add(spread, epsilon)), shape_of(kept))};
}

Tensor gemm(const Call& c) {
  const Tensor y = ops::matmul(c.f32(0), c.f32(1),
                               {.transpose_a = c.node.integer("transA", 0) != 0,
                                .transpose_b = c.node.integer("transB", 0) != 0});
  const float alpha = c.node.number("alpha", 1), beta = c.node.number("beta", 1);
  const bool no_bias = !c.has(2);
  if (alpha == 1 && beta == 1 && !no_bias && c.any(2).rank() == 1 && c.any(2).size() == y.dim(1) &&
      c.node.integer("transA", 0) == 0) {
    const bool turned = c.node.integer("transB", 0) != 0;
    return ops::linear(c.f32(0), turned ? ops::transpose(c.f32(1), {1, 0}) : c.f32(1), c.f32(2));
  }
  const Tensor scaled = ops::mul(y, alpha);
  return no_bias ? scaled : ops::add(scaled, ops::mul(c.f32(2), beta));
}

Tensor normalized_over(const Call& c) {
  const Tensor& x = c.f32();
  const Numbers axes = c.node.integers("axes", {0, 2, 3});
  const auto over_axes = [&](Tensor y) {
    for (const std::int64_t axis : axes) {
      y = ops::mean(y, static_cast<int>(axis), {.keep_dims = true});
    }
    return y;
  };
  const Tensor centered = ops::sub(x, over_axes(x));
  const Tensor deviation = ops::sqrt(over_axes(ops::square(centered)));
  return ops::div(centered, ops::add(deviation, 1e-9F));
}

}  // namespace

void add_windows(Operators& all) {
  all["Conv"] = [](const Call& c) -> Outputs { return {convolved(c)}; };
  all["ConvTranspose"] = [](const Call& c) -> Outputs { return {convolved_back(c)}; };
  all["MaxPool"] = [](const Call& c) -> Outputs { return {pooled(c, false)}; };
  all["AveragePool"] = [](const Call& c) -> Outputs { return {pooled(c, true)}; };
  all["GlobalAveragePool"] = [](const Call& c) -> Outputs { return {global(c, true)}; };
  all["GlobalMaxPool"] = [](const Call& c) -> Outputs { return {global(c, false)}; };
  all["BatchNormalization"] = batch_normalized;
  all["InstanceNormalization"] = [](const Call& c) -> Outputs { return {instance_normalized(c)}; };
  all["LayerNormalization"] = layer_normalized;
  all["MeanVarianceNormalization"] = [](const Call& c) -> Outputs { return {normalized_over(c)}; };
  all["Gemm"] = [](const Call& c) -> Outputs { return {gemm(c)}; };
  all["MatMul"] = [](const Call& c) -> Outputs { return {ops::matmul(c.f32(0), c.f32(1))}; };
}

}  // namespace trivet::test::onnx

// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling against direct loops in double.
#include "trivet/ops/ops_vision.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;

struct Extent {
  std::int64_t out, before;
};

// TensorFlow's rules for one axis.
Extent extent(std::int64_t in, std::int64_t kernel, const WindowOptions& o, std::size_t axis) {
  const std::int64_t reach = (kernel - 1) * o.dilation[axis] + 1, stride = o.stride[axis];
  if (o.padding == Padding::valid) return {(in - reach + stride) / stride, 0};
  if (o.padding == Padding::explicit_) {
    return {(in + 2 * o.pad[axis] - reach + stride) / stride, o.pad[axis]};
  }
  const std::int64_t out = (in + stride - 1) / stride;
  return {out, std::max<std::int64_t>(0, (out - 1) * stride + reach - in) / 2};
}

// Calls f(row, column, kernel position) for the pixels of a window that lie inside the image.
template <class F>
void window(const Shape& image, std::int64_t kh, std::int64_t kw, const WindowOptions& o,
            Indices at, F f) {
  const std::int64_t top = at[1] * o.stride[0] - extent(image[1], kh, o, 0).before;
  const std::int64_t left = at[2] * o.stride[1] - extent(image[2], kw, o, 1).before;
  for (std::int64_t y = 0; y < kh; ++y) {
    for (std::int64_t x = 0; x < kw; ++x) {
      const std::int64_t row = top + y * o.dilation[0], column = left + x * o.dilation[1];
      if (row >= 0 && row < image[1] && column >= 0 && column < image[2]) f(row, column, y, x);
    }
  }
}

void check_conv(const std::string& name, const Shape& image, const Shape& filter,
                const WindowOptions& o, bool bias, Activation act) {
  check({.name = name,
         .inputs = {{image}, {filter}, {{filter[3]}, 0.5, 1}},
         .op = [=](auto in) { return ops::conv2d(in[0], in[1], bias ? in[2] : Tensor(), o, act); },
         .reference =
             [=](auto in) {
               const Shape out{image[0], extent(image[1], filter[0], o, 0).out,
                               extent(image[2], filter[1], o, 1).out, filter[3]};
               return filled(out, [&](Indices i) {
                 double z = bias ? in[2].at({i[3]}) : 0;
                 window(image, filter[0], filter[1], o, i,
                        [&](auto row, auto column, auto y, auto x) {
                          for (std::int64_t c = 0; c < image[3]; ++c) {
                            z += in[0].at({i[0], row, column, c}) * in[1].at({y, x, c, i[3]});
                          }
                        });
                 return act == Activation::silu   ? z / (1 + std::exp(-z))
                        : act == Activation::relu ? std::max(0.0, z)
                                                  : z;
               });
             },
         .differentiable = act != Activation::relu,
         .gradient_tolerance = 2e-2});
}

void check_pool(const std::string& name, bool max, const Shape& image,
                std::array<std::int64_t, 2> size, const WindowOptions& o) {
  check({.name = name,
         .inputs = {{image, -9, 9}},  // far apart, so that a step does not change the winner
         .op =
             [=](auto in) {
               return max ? ops::max_pool2d(in[0], size, o) : ops::avg_pool2d(in[0], size, o);
             },
         .reference =
             [=](auto in) {
               const Shape out{image[0], extent(image[1], size[0], o, 0).out,
                               extent(image[2], size[1], o, 1).out, image[3]};
               return filled(out, [&](Indices i) {
                 double top = -1e30, sum = 0, count = 0;
                 window(image, size[0], size[1], o, i, [&](auto row, auto column, auto, auto) {
                   const double value = in[0].at({i[0], row, column, i[3]});
                   top = std::max(top, value);
                   sum += value;
                   count += 1;
                 });
                 return max ? top : sum / count;
               });
             }});
}

}  // namespace

TEST_CASE("conv2d slides filters over images by TensorFlow's padding rules", "[ops][vision]") {
  const Shape image{2, 5, 6, 2}, filter{3, 3, 2, 3};
  check_conv("same", image, filter, {}, true, Activation::none);
  check_conv("valid", image, filter, {.padding = Padding::valid}, false, Activation::none);
  check_conv("strides", image, filter, {.stride = {2, 3}}, true, Activation::silu);
  check_conv("dilation", {1, 7, 7, 1}, {3, 2, 1, 2}, {.dilation = {2, 3}}, true, Activation::none);
  check_conv("explicit", image, filter, {.padding = Padding::explicit_, .pad = {2, 1}}, true,
             Activation::relu);
  check_conv("1 x 1", image, {1, 1, 2, 4}, {}, true, Activation::none);
  check_conv("even filter, odd padding below and right", {1, 4, 4, 1}, {2, 2, 1, 1}, {}, false,
             Activation::none);
}

TEST_CASE("a convolution with a known answer", "[ops][vision]") {
  // Filter [1 2; 3 4] over [1 2 3; 4 5 6; 7 8 9], valid: 1 + 2*2 + 3*4 + 4*5 = 37, ...
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9}, w{1, 2, 3, 4};
    const Tensor y =
        ops::conv2d(Tensor::from<float>(*device, x, {1, 3, 3, 1}),
                    Tensor::from<float>(*device, w, {2, 2, 1, 1}), {}, {.padding = Padding::valid});
    CHECK(y.to_host<float>() == std::vector<float>{37, 47, 67, 77});
  }
}

TEST_CASE("pooling takes the maximum or the mean of the pixels inside the image", "[ops][vision]") {
  for (const bool max : {true, false}) {
    const std::string kind = max ? "max " : "avg ";
    check_pool(kind + "2 x 2", max, {2, 4, 6, 3}, {2, 2},
               {.stride = {2, 2}, .padding = Padding::valid});
    check_pool(kind + "overlapping", max, {1, 5, 5, 2}, {3, 3}, {.stride = {1, 2}});
    check_pool(kind + "explicit padding", max, {1, 4, 4, 1}, {3, 3},
               {.stride = {2, 2}, .padding = Padding::explicit_, .pad = {1, 1}});
  }
}

TEST_CASE("conv2d reports mismatched shapes", "[ops][vision]") {
  const auto device = open_any();
  const Tensor image = Tensor::zeros(*device, {1, 4, 4, 3});
  CHECK_THROWS_WITH(ops::conv2d(image, Tensor::zeros(*device, {3, 3, 2, 8})),
                    Catch::Contains("[conv2d]") && Catch::Contains("[3, 3, 2, 8]"));
  CHECK_THROWS_WITH(ops::max_pool2d(image, {5, 5}, {.padding = Padding::valid}),
                    Catch::Contains("max_pool2d"));
}

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
// Convolution in groups, and windows over volumes.
#include "trivet/ops/ops_volume.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;

// How windows lie along one axis.
struct Axis {
  std::int64_t in, window, stride, dilation, before, out;
};

// Calls f(index in the window, index in the input) for elements inside.
template <class F>
void inside(const Axis& a, std::int64_t o, F f) {
  for (std::int64_t k = 0; k < a.window; ++k) {
    const std::int64_t at = o * a.stride + k * a.dilation - a.before;
    if (at >= 0 && at < a.in) f(k, at);
  }
}

constexpr Axis kDepth{4, 3, 2, 1, 1, 2}, kHeight{5, 2, 1, 2, 0, 3}, kWidth{3, 2, 1, 1, 1, 4};
const VolumeOptions kOptions{
    .stride = {2, 1, 1}, .dilation = {1, 2, 1}, .padding = Padding::explicit_, .pad = {1, 0, 1}};

double convolved(std::span<const Array> in, Indices i, std::int64_t groups) {
  const std::int64_t cin = in[1].dim(3), cout = in[1].dim(4), group = i[4] / (cout / groups);
  double sum = in[2].at({i[4]});
  inside(kDepth, i[1], [&](auto kd, auto d) {
    inside(kHeight, i[2], [&](auto kh, auto h) {
      inside(kWidth, i[3], [&](auto kw, auto w) {
        for (std::int64_t c = 0; c < cin; ++c) {
          sum += in[0].at({i[0], d, h, w, group * cin + c}) * in[1].at({kd, kh, kw, c, i[4]});
        }
      });
    });
  });
  return sum;
}

template <class Fold>
void over_window(const Array& x, Indices i, Fold fold) {
  const Axis height{5, 2, 1, 1, 0, 4};
  inside(kDepth, i[1], [&](auto, auto d) {
    inside(height, i[2], [&](auto, auto h) {
      inside(kWidth, i[3], [&](auto, auto w) { fold(x.at({i[0], d, h, w, i[4]})); });
    });
  });
}

const VolumeOptions kPool{.stride = {2, 1, 1}, .padding = Padding::explicit_, .pad = {1, 0, 1}};

}  // namespace

TEST_CASE("convolution in groups sees its own channels alone", "[ops]") {
  for (const std::int64_t groups : {2, 4}) {
    check({.name = "conv2d in " + std::to_string(groups) + " groups",
           .inputs = {{{2, 4, 3, 4}}, {{2, 2, 4 / groups, 8}}, {{8}}},
           .op =
               [=](auto in) {
                 return ops::conv2d(in[0], in[1], in[2],
                                    {.padding = Padding::valid, .groups = groups},
                                    Activation::tanh);
               },
           .reference =
               [=](auto in) {
                 return filled({2, 3, 2, 8}, [&](Indices i) {
                   const std::int64_t cin = 4 / groups, group = i[3] / (8 / groups);
                   double sum = in[2].at({i[3]});
                   for (std::int64_t k = 0; k < 4 * cin; ++k) {
                     const std::int64_t kh = k / cin / 2, kw = k / cin % 2, c = k % cin;
                     sum += in[0].at({i[0], i[1] + kh, i[2] + kw, group * cin + c}) *
                            in[1].at({kh, kw, c, i[3]});
                   }
                   return std::tanh(sum);
                 });
               }});
  }
}

TEST_CASE("groups that do not divide the channels are an error", "[ops]") {
  const auto device = open_any();
  const Tensor x = Tensor::zeros(*device, {1, 3, 3, 4}), w = Tensor::zeros(*device, {1, 1, 2, 3});
  CHECK_THROWS_WITH(ops::conv2d(x, w, {}, {.groups = 2}), Catch::Contains("2 groups"));
  CHECK_THROWS_WITH(ops::conv2d(x, w, {}, {.groups = 0}), Catch::Contains("0 groups"));
  CHECK_THROWS_WITH(ops::max_pool2d(x, {2, 2}, {.groups = 2}), Catch::Contains("[max_pool2d]"));
}

TEST_CASE("conv3d is the sum over windows of a volume", "[ops]") {
  for (const std::int64_t groups : {1, 2}) {
    VolumeOptions options = kOptions;
    options.groups = groups;
    check(
        {.name = "conv3d in " + std::to_string(groups) + " groups",
         .inputs = {{{2, 4, 5, 3, 2}}, {{3, 2, 2, 2 / groups, 2}}, {{2}}},
         .op = [=](auto in) { return ops::conv3d(in[0], in[1], in[2], options); },
         .reference =
             [=](auto in) {
               return filled({2, 2, 3, 4, 2}, [&](Indices i) { return convolved(in, i, groups); });
             }});
  }
}

TEST_CASE("conv3d keeps the extents with padding \"same\"", "[ops]") {
  const auto device = open_any();
  const Tensor x = Tensor::full(*device, {1, 3, 4, 5, 1}, 1);
  const Tensor w = Tensor::full(*device, {3, 3, 3, 1, 1}, 1);
  const Tensor y = ops::conv3d(x, w, {}, {}, Activation::relu);
  CHECK(y.shape() == x.shape());
  CHECK(y.to_host<float>()[0] == 8);
  CHECK(ops::conv3d(x, w, {}, {.stride = {2, 2, 2}}).shape() == Shape{1, 2, 2, 3, 1});
  CHECK_THROWS_WITH(ops::conv3d(x, Tensor::zeros(*device, {3, 3, 3, 2, 1})),
                    Catch::Contains("[conv3d]"));
}

TEST_CASE("max_pool3d and avg_pool3d use only elements inside the volume", "[ops]") {
  const auto pool_case = [](const char* name, auto op, bool smooth, auto reference) {
    OpCase c{.name = name,
             .inputs = {{{2, 4, 5, 3, 2}, -4, 4}},
             .op =
                 [op](auto in) {
                   return op(in[0], {3, 2, 2}, kPool);
                 },
             .reference =
                 [reference](auto in) {
                   return filled({2, 2, 4, 4, 2}, [&](Indices i) { return reference(in[0], i); });
                 },
             .differentiable = smooth};
    check(c);
  };
  pool_case("avg_pool3d", ops::avg_pool3d, true, [](const Array& x, Indices i) {
    double sum = 0, count = 0;
    over_window(x, i, [&](double v) { sum += v, count += 1; });
    return sum / count;
  });
  pool_case("max_pool3d", ops::max_pool3d, false, [](const Array& x, Indices i) {
    double most = -std::numeric_limits<double>::infinity();
    over_window(x, i, [&](double v) { most = std::max(most, v); });
    return most;
  });
}

// Central differences are meaningless where two elements are nearly equal.
TEST_CASE("the gradient of max_pool3d goes to the largest of each window", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    std::vector<float> values(64);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 64);
    GradientSlot slot;
    const Tensor x = make_leaf(Tensor::from<float>(*device, values, {1, 4, 4, 4, 1}), slot);
    Tape tape;
    Tensor y;
    {
      Tape::Recording recording(tape);
      y = ops::max_pool3d(x, {2, 2, 2}, {.stride = {2, 2, 2}, .padding = Padding::valid});
    }
    tape.backward(y, Tensor::full(*device, y.shape(), 1));
    std::vector<float> largest = y.to_host<float>(), reached;
    const std::vector<float> gradient = slot.gradient.to_host<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (gradient[i] == 1) reached.push_back(values[i]);
    }
    std::sort(largest.begin(), largest.end());
    std::sort(reached.begin(), reached.end());
    CHECK(reached == largest);
  }
}

TEST_CASE("a pooling window that lies in the padding alone is an error", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const Tensor image = Tensor::full(*device, {1, 2, 2, 1}, 1);
    const WindowOptions all{.padding = Padding::explicit_, .pad = {3, 3}};
    const WindowOptions wide{.padding = Padding::explicit_, .pad = {1, 3}};
    const WindowOptions some{.padding = Padding::explicit_, .pad = {2, 2}};
    for (const WindowOptions& options : {all, wide}) {
      CHECK_THROWS_WITH(ops::max_pool2d(image, {3, 3}, options),
                        Catch::Contains("[max_pool2d]") && Catch::Contains("3 of padding"));
      CHECK_THROWS_WITH(ops::avg_pool2d(image, {3, 3}, options), Catch::Contains("[avg_pool2d]"));
    }
    const auto values = ops::max_pool2d(image, {3, 3}, some).to_host<float>();
    CHECK(values == std::vector<float>(16, 1));
  }
}

TEST_CASE("errors of ops on volumes name them", "[ops]") {
  const auto device = open_any();
  const Tensor x = Tensor::zeros(*device, {1, 2, 2, 2, 4});
  const VolumeOptions valid{.padding = Padding::valid};
  const auto refused = [&](const char* op, auto call) {
    INFO(op);
    CHECK_THROWS_WITH(call(), Catch::StartsWith("[" + std::string(op) + "]"));
  };
  // Too long along depth, height and width; a window in the padding alone; groups.
  for (const std::array<std::int64_t, 3> window :
       {std::array<std::int64_t, 3>{3, 1, 1}, {1, 3, 1}, {1, 1, 3}, {1, 0, 1}}) {
    refused("max_pool3d", [&] { return ops::max_pool3d(x, window, valid); });
    refused("avg_pool3d", [&] { return ops::avg_pool3d(x, window, valid); });
    const Tensor w = Tensor::zeros(*device, {window[0], window[1], window[2], 4, 1});
    refused("conv3d", [&] { return ops::conv3d(x, w, {}, valid); });
  }
  for (const std::array<std::int64_t, 3> pad :
       {std::array<std::int64_t, 3>{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}) {
    const VolumeOptions around{.padding = Padding::explicit_, .pad = pad};
    refused("max_pool3d", [&] { return ops::max_pool3d(x, {2, 2, 2}, around); });
    CHECK_THROWS_WITH(ops::avg_pool3d(x, {2, 2, 2}, around), Catch::Contains("of the volume"));
  }
  refused("avg_pool3d", [&] { return ops::avg_pool3d(x, {1, 1, 1}, {.groups = 2}); });
  refused("conv3d", [&] {
    return ops::conv3d(x, Tensor::zeros(*device, {1, 1, 1, 4, 1}), {}, {.stride = {1, 0, 1}});
  });
}

TEST_CASE("a volume without planes returns a volume without planes", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const Tensor x = Tensor::zeros(*device, {2, 0, 4, 3, 2});
    for (const std::int64_t stride : {1, 2}) {
      const VolumeOptions options{.stride = {stride, 1, 1}};
      GradientSlot slot;
      const Tensor w = make_leaf(Tensor::full(*device, {3, 2, 2, 2, 5}, 1), slot);
      Tape tape;
      Tensor y;
      {
        Tape::Recording recording(tape);
        y = ops::conv3d(x, w, {}, options);
      }
      CHECK(y.shape() == Shape{2, 0, 4, 3, 5});
      tape.backward(y, Tensor::zeros(*device, y.shape()));
      CHECK(slot.gradient.to_host<float>() == std::vector<float>(120, 0));
      CHECK(ops::max_pool3d(x, {3, 2, 2}, options).shape() == Shape{2, 0, 4, 3, 2});
      CHECK(ops::avg_pool3d(x, {3, 2, 2}, options).shape() == Shape{2, 0, 4, 3, 2});
    }
  }
}

}  // namespace trivet::test

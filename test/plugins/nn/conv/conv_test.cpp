// SPDX-License-Identifier: Apache-2.0
// Conv2d and the pools against plain loops in double, by TensorFlow's rules for borders.
#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"

namespace {

using trivet::ConfigOf;
using trivet::Layer;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;

struct Window {
  std::int64_t kernel[2], stride[2], dilation[2];
  std::string padding;
  std::int64_t pad[2] = {0, 0};
};

// Where a window starts along one axis, and how many there are.
struct Axis {
  std::int64_t before, count;
};

Axis axis_of(const Window& window, int axis, std::int64_t extent) {
  const std::int64_t reach = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
  const std::int64_t stride = window.stride[axis];
  if (window.padding == "same") {
    const std::int64_t count = (extent + stride - 1) / stride;
    const std::int64_t padding = std::max<std::int64_t>((count - 1) * stride + reach - extent, 0);
    return {padding / 2, count};
  }
  const std::int64_t pad = window.padding == "explicit" ? window.pad[axis] : 0;
  return {pad, (extent + 2 * pad - reach) / stride + 1};
}

struct Images {
  std::int64_t batch, height, width, channels;
  std::vector<float> values;
  double at(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return static_cast<double>(
        values[static_cast<std::size_t>(((n * height + y) * width + x) * channels + c)]);
  }
};

// Calls visit(n, oy, ox, taps) with the positions (kernel y, kernel x, y, x) inside the image.
template <class Visit>
void for_each_window(const Images& in, const Window& window, Visit visit) {
  const Axis rows = axis_of(window, 0, in.height), columns = axis_of(window, 1, in.width);
  for (std::int64_t n = 0; n < in.batch; ++n) {
    for (std::int64_t oy = 0; oy < rows.count; ++oy) {
      for (std::int64_t ox = 0; ox < columns.count; ++ox) {
        std::vector<std::array<std::int64_t, 4>> taps;
        for (std::int64_t ky = 0; ky < window.kernel[0]; ++ky) {
          for (std::int64_t kx = 0; kx < window.kernel[1]; ++kx) {
            const std::int64_t y = oy * window.stride[0] + ky * window.dilation[0] - rows.before;
            const std::int64_t x = ox * window.stride[1] + kx * window.dilation[1] - columns.before;
            if (y >= 0 && y < in.height && x >= 0 && x < in.width) taps.push_back({ky, kx, y, x});
          }
        }
        visit(n, taps);
      }
    }
  }
}

std::vector<double> conv_reference(const Images& in, const Window& window,
                                   const std::vector<float>& w, const std::vector<float>& b) {
  const auto outputs = static_cast<std::int64_t>(b.size());
  std::vector<double> out;
  for_each_window(in, window, [&](std::int64_t n, const auto& taps) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = static_cast<double>(b[static_cast<std::size_t>(o)]);
      for (const auto& [ky, kx, y, x] : taps) {
        for (std::int64_t c = 0; c < in.channels; ++c) {
          const auto position = ((ky * window.kernel[1] + kx) * in.channels + c) * outputs + o;
          sum += in.at(n, y, x, c) * static_cast<double>(w[static_cast<std::size_t>(position)]);
        }
      }
      out.push_back(sum);
    }
  });
  return out;
}

std::vector<double> pool_reference(const Images& in, const Window& window, bool largest) {
  std::vector<double> out;
  for_each_window(in, window, [&](std::int64_t n, const auto& taps) {
    for (std::int64_t c = 0; c < in.channels; ++c) {
      double sum = 0, most = -std::numeric_limits<double>::infinity();
      for (const auto& tap : taps) {
        sum += in.at(n, tap[2], tap[3], c);
        most = std::max(most, in.at(n, tap[2], tap[3], c));
      }
      out.push_back(largest ? most : sum / static_cast<double>(taps.size()));
    }
  });
  return out;
}

Value list(const std::int64_t (&numbers)[2]) {
  return Value::array({numbers[0], numbers[1]});
}

Value window_fields(const Window& window, const char* size) {
  Value fields = Value::table({{"padding", window.padding}});
  fields.set(size, list(window.kernel));
  fields.set("stride", list(window.stride));
  if (window.padding == "explicit") fields.set("pad", list(window.pad));
  return fields;
}

Images images(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t channels) {
  return {batch, height, width, channels, random_values(batch * height * width * channels, 9)};
}

trivet::Shape shape_of(const Images& in) {
  return {in.batch, in.height, in.width, in.channels};
}

std::string error_of(const std::string& key, Value fields) {
  try {
    LayerFixture fixture("tiny/Backend", ConfigOf<Layer>(key, std::move(fields)));
  } catch (const trivet::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("Conv2d computes the convolution for every border, stride and dilation") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Window window = GENERATE(values<Window>({
      {{3, 3}, {1, 1}, {1, 1}, "same"},
      {{3, 3}, {1, 1}, {1, 1}, "valid"},
      {{3, 2}, {2, 3}, {1, 1}, "same"},
      {{2, 4}, {2, 1}, {1, 1}, "valid"},
      {{3, 3}, {1, 1}, {2, 2}, "same"},
      {{3, 1}, {1, 2}, {2, 1}, "valid"},
      {{1, 1}, {2, 2}, {1, 1}, "same"},
      {{3, 3}, {2, 2}, {1, 1}, "explicit", {1, 2}},
  }));
  INFO(backend << " " << window.padding << " kernel " << window.kernel[0] << "x" << window.kernel[1]
               << " stride " << window.stride[0] << "x" << window.stride[1] << " dilation "
               << window.dilation[0] << "x" << window.dilation[1]);
  const Images in = images(2, 7, 8, 3);
  Value fields = window_fields(window, "kernel");
  fields.set("dilation", list(window.dilation));
  fields.set("input_dims", 3);
  fields.set("output_dims", 4);
  LayerFixture fixture(backend, {"nn/Conv2d", fields});
  const std::vector<float> b = random_values(4, 5);
  fixture.set("b", b);
  const Tensor y = fixture.fprop(fixture.tensor(in.values, shape_of(in)));
  CHECK(y.dim(1) == axis_of(window, 0, 7).count);
  CHECK(y.dim(2) == axis_of(window, 1, 8).count);
  // At most 27 products per element.
  CHECK(largest_error(y.to_host<float>(), conv_reference(in, window, fixture.values("w"), b)) <
        1e-5);
}

TEST_CASE("groups of channels have filters of their own") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Window window{{3, 3}, {1, 1}, {1, 1}, "same"};
  const Images in = images(2, 5, 4, 4);
  const Value fields = Value::table({{"input_dims", 4}, {"output_dims", 6}, {"groups", 2}});
  LayerFixture fixture(backend, {"nn/Conv2d", fields});
  REQUIRE(fixture.parameter("w").shape() == trivet::Shape{3, 3, 2, 6});
  const std::vector<float> b = random_values(6, 5);
  fixture.set("b", b);
  const std::vector<float> w = fixture.values("w");
  const Tensor y = fixture.fprop(fixture.tensor(in.values, shape_of(in)));
  // The first two channels make the first three outputs, the others the others.
  for (std::int64_t group = 0; group < 2; ++group) {
    Images half{in.batch, in.height, in.width, 2, {}};
    for (std::size_t i = 0; i < in.values.size(); ++i) {
      if (static_cast<std::int64_t>(i % 4) / 2 == group) half.values.push_back(in.values[i]);
    }
    std::vector<float> own, bias(b.begin() + 3 * group, b.begin() + 3 * group + 3), got;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (static_cast<std::int64_t>(i % 6) / 3 == group) own.push_back(w[i]);
    }
    const std::vector<float> all = y.to_host<float>();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (static_cast<std::int64_t>(i % 6) / 3 == group) got.push_back(all[i]);
    }
    CHECK(largest_error(got, conv_reference(half, window, own, bias)) < 1e-5);
  }
  CHECK_THAT(
      error_of("nn/Conv2d", Value::table({{"input_dims", 4}, {"output_dims", 6}, {"groups", 4}})),
      Catch::Contains("groups: is 4, which must divide input_dims = 4 and output_dims = 6"));
}

TEST_CASE("Conv2d applies a plain activation in its own pass") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Window window{{3, 3}, {1, 1}, {1, 1}, "same"};
  const Images in = images(1, 5, 6, 2);
  const Value fields =
      Value::table({{"input_dims", 2}, {"output_dims", 3}, {"activation", "nn/Relu"}});
  LayerFixture fixture(backend, {"nn/Conv2d", fields});
  std::vector<double> want = conv_reference(in, window, fixture.values("w"), {0, 0, 0});
  for (double& y : want) y = std::max(y, 0.0);
  const Tensor y = fixture.fprop(fixture.tensor(in.values, shape_of(in)));
  CHECK(largest_error(y.to_host<float>(), want) < 1e-5);
}

TEST_CASE("pools take the largest or mean value inside the image") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool largest = GENERATE(true, false);
  const Window window = GENERATE(values<Window>({
      {{2, 2}, {2, 2}, {1, 1}, "valid"},
      {{3, 3}, {2, 2}, {1, 1}, "same"},
      {{3, 2}, {1, 1}, {1, 1}, "same"},
      {{3, 3}, {2, 2}, {1, 1}, "explicit", {1, 1}},
      {{7, 8}, {1, 1}, {1, 1}, "valid"},
  }));
  INFO(backend << " " << window.padding << " " << window.kernel[0] << "x" << window.kernel[1]);
  const Images in = images(2, 7, 8, 3);
  LayerFixture fixture(
      backend, {largest ? "nn/MaxPool2d" : "nn/AvgPool2d", window_fields(window, "window")});
  const Tensor y = fixture.fprop(fixture.tensor(in.values, shape_of(in)));
  CHECK(largest_error(y.to_host<float>(), pool_reference(in, window, largest)) < 1e-6);
}

TEST_CASE("pools without a stride do not overlap") {
  LayerFixture fixture("tiny/Backend", "nn/MaxPool2d");
  const Tensor y = fixture.fprop(fixture.tensor(random_values(48, 1), {1, 4, 4, 3}));
  CHECK(y.shape() == trivet::Shape{1, 2, 2, 3});
}

TEST_CASE("GlobalAvgPool2d takes the mean of all pixels") {
  LayerFixture fixture(GENERATE(from_range(trivet::test::backends())), "nn/GlobalAvgPool2d");
  const Images in = images(2, 3, 5, 4);
  const Tensor y = fixture.fprop(fixture.tensor(in.values, shape_of(in)));
  CHECK(y.shape() == trivet::Shape{2, 4});
  std::vector<double> means(8, 0.0);
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    means[i / 60 * 4 + i % 4] += static_cast<double>(in.values[i]) / 15;
  }
  CHECK(largest_error(y.to_host<float>(), means) < 1e-6);
}

TEST_CASE("Conv2d's filters are TensorFlow's, and one number sets both axes") {
  const Value fields = Value::table(
      {{"input_dims", 2}, {"output_dims", 3}, {"kernel", Value::array({5})}, {"has_bias", false}});
  LayerFixture fixture("tiny/Backend", {"nn/Conv2d", fields});
  REQUIRE(fixture.store().parameters().size() == 1);
  CHECK(fixture.parameter("w").shape() == trivet::Shape{5, 5, 2, 3});
}

TEST_CASE("Conv2d's filters and bias have separate initializers") {
  const auto constant = [](double value) {
    return Value::table({{"method", "constant"}, {"scale", value}});
  };
  LayerFixture fixture("tiny/Backend",
                       {"nn/Conv2d", Value::table({{"input_dims", 1},
                                                   {"output_dims", 2},
                                                   {"kernel", Value::array({1})},
                                                   {"init", constant(0.5)},
                                                   {"bias_init", constant(0.25)}})});
  CHECK(fixture.values("w") == std::vector<float>{0.5F, 0.5F});
  CHECK(fixture.values("b") == std::vector<float>{0.25F, 0.25F});
}

TEST_CASE("images of the wrong shape are an error that names the layer") {
  LayerFixture fixture("tiny/Backend",
                       {"nn/Conv2d", Value::table({{"input_dims", 3}, {"output_dims", 4}})});
  CHECK_THROWS_WITH(fixture.fprop(Tensor::zeros(fixture.device(), {1, 8, 8, 1})),
                    Catch::Contains("[nn/Conv2d] 'layer': expected images [B, H, W, 3]") &&
                        Catch::Contains("[1, 8, 8, 1]"));
  CHECK_THROWS_WITH(fixture.fprop(Tensor::zeros(fixture.device(), {1, 8, 8, 4})),
                    Catch::Contains("expected images [B, H, W, 3]"));
  LayerFixture pool("tiny/Backend", "nn/AvgPool2d");
  CHECK_THROWS_WITH(pool.fprop(Tensor::zeros(pool.device(), {8, 8})),
                    Catch::Contains("[nn/AvgPool2d]"));
  LayerFixture global("tiny/Backend", "nn/GlobalAvgPool2d");
  CHECK_THROWS_WITH(global.fprop(Tensor::zeros(global.device(), {2, 4})),
                    Catch::Contains("[nn/GlobalAvgPool2d]"));
}

TEST_CASE("invalid windows are refused with the field") {
  const Value three = Value::array({1, 2, 3});
  CHECK_THAT(error_of("nn/Conv2d",
                      Value::table({{"input_dims", 1}, {"output_dims", 1}, {"kernel", three}})),
             Catch::Contains("kernel") && Catch::Contains("has 3"));
  CHECK_THAT(
      error_of("nn/Conv2d",
               Value::table({{"input_dims", 1}, {"output_dims", 1}, {"pad", Value::array({1})}})),
      Catch::Contains("pad") && Catch::Contains("explicit"));
  CHECK_THAT(error_of("nn/MaxPool2d", Value::table({{"window", Value::array({17, 17})}})),
             Catch::Contains("window"));
  CHECK_THAT(error_of("nn/MaxPool2d", Value::table({{"window", Value::array({1, 257})}})),
             Catch::Contains("window"));
  CHECK(error_of("nn/MaxPool2d", Value::table({{"window", Value::array({16, 16})}})) == "no error");
  const auto padded = [](std::int64_t rows, std::int64_t columns) {
    return error_of("nn/MaxPool2d", Value::table({{"window", Value::array({4, 2})},
                                                  {"padding", "explicit"},
                                                  {"pad", Value::array({rows, columns})}}));
  };
  CHECK(padded(3, 1) == "no error");
  CHECK_THAT(padded(4, 1), Catch::Contains("less than the window"));
  CHECK_THAT(padded(3, 2), Catch::Contains("less than the window"));
  CHECK_THAT(error_of("nn/MaxPool2d", Value::table({{"window", Value::array({2})},
                                                    {"padding", "explicit"},
                                                    {"pad", Value::array({2})}})),
             Catch::Contains("pad"));
  CHECK_THAT(error_of("nn/Conv2d", Value::table({{"output_dims", 1}})),
             Catch::Contains("input_dims"));
}

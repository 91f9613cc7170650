// SPDX-License-Identifier: Apache-2.0
// A row of a product, an image and a query of attention have the same bits whatever is computed
// with them: text that is generated token by token is that of the whole text.
#include <cstdint>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "sdk/tensor/tensor_bits.h"
#include "support/plugins.h"
#include "trivet/ops.h"
#include "trivet/ops/ops_vision.h"
#include "trivet/recurrent/gru.h"
#include "trivet/recurrent/lstm.h"

namespace {

using trivet::Device;
using trivet::Shape;
using trivet::Tensor;
using trivet::test::bits_of;

std::vector<float> numbers(std::int64_t count, std::int64_t seed) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    x[static_cast<std::size_t>(i)] = static_cast<float>((i * 7919 + seed) % 1009) / 503.0f - 1;
  }
  return x;
}

Tensor tensor(Device& device, const Shape& shape, std::int64_t seed) {
  return Tensor::from<float>(device, numbers(shape.size(), seed), shape);
}

// Rows [begin, end) of the axis.
Tensor part(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
  return trivet::ops::slice(x, axis, begin, end);
}

TEST_CASE("a row of a product has the same bits alone and with others", "[backend]") {
  const auto device = trivet::test::open_device("cpu/Highway");
  constexpr std::int64_t kRows = 131, kDepth = 900;
  for (const std::int64_t columns : {3, 64, 130, 256, 257}) {
    for (const bool transposed : {false, true}) {
      INFO(columns << " columns, transposed " << transposed);
      const Tensor a = tensor(*device, {kRows, kDepth}, 1);
      const Tensor b =
          tensor(*device, transposed ? Shape{columns, kDepth} : Shape{kDepth, columns}, 2);
      const auto product = [&](std::int64_t begin, std::int64_t end) {
        return trivet::ops::matmul(part(a, 0, begin, end), b, {.transpose_b = transposed});
      };
      const Tensor whole = product(0, kRows);
      for (const auto& [begin, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{
               {0, 1}, {7, 8}, {100, 103}, {130, 131}, {20, 25}, {40, 48}, {3, 60}}) {
        CHECK(bits_of(product(begin, end)) == bits_of(part(whole, 0, begin, end)));
      }
    }
  }
}

TEST_CASE("a query of attention has the same bits alone and with others", "[backend]") {
  const auto device = trivet::test::open_device("cpu/Highway");
  constexpr std::int64_t kBatch = 2, kTime = 300, kHeads = 4, kKeyHeads = 2;
  struct Kind {
    std::int64_t depth, window;
    float softcap;
    bool segments;
  };
  for (const Kind& kind :
       {Kind{24, 0, 0, false}, {32, 90, 0, false}, {64, 0, 3, false}, {32, 0, 0, true}}) {
    const Tensor q = tensor(*device, {kBatch, kTime, kHeads, kind.depth}, 1);
    const Tensor k = tensor(*device, {kBatch, kTime, kKeyHeads, kind.depth}, 2);
    const Tensor v = tensor(*device, {kBatch, kTime, kKeyHeads, kind.depth}, 3);
    std::vector<std::int32_t> numbers;
    for (std::int64_t i = 0; i < kBatch * kTime; ++i) {
      numbers.push_back(static_cast<std::int32_t>(i % kTime / 60));
    }
    const Tensor segments = Tensor::from<std::int32_t>(*device, numbers, {kBatch, kTime});
    const auto attend = [&](std::int64_t begin, std::int64_t end) {
      trivet::ops::AttentionOptions options{
          .causal = true, .window = kind.window, .softcap = kind.softcap, .q_offset = begin};
      if (kind.segments) {
        options.q_segments = part(segments, 1, begin, end);
        options.kv_segments = part(segments, 1, 0, end);
      }
      return trivet::ops::attention(part(q, 1, begin, end), part(k, 1, 0, end), part(v, 1, 0, end),
                                    options);
    };
    const Tensor whole = attend(0, kTime);
    // Up to 4 queries, each of 2 heads that share keys, are few.
    for (const auto& [begin, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, 1}, {63, 64}, {255, 257}, {299, 300}, {254, 258}, {0, 70}, {100, 280}}) {
      INFO("queries " << begin << " to " << end << ", depth " << kind.depth << ", window "
                      << kind.window);
      CHECK(bits_of(attend(begin, end)) == bits_of(part(whole, 1, begin, end)));
    }
  }
}

TEST_CASE("a position of lstm and gru has the same bits alone and with others", "[backend]") {
  const auto device = trivet::test::open_device("cpu/Highway");
  constexpr std::int64_t kRows = 15, kTime = 6, kUnits = 400;
  const Tensor gates = tensor(*device, {kRows, kTime, 4 * kUnits}, 1);
  const Tensor w = trivet::ops::mul(tensor(*device, {kUnits, 4 * kUnits}, 2), 0.1f);
  const Tensor gru_gates = tensor(*device, {kRows, kTime, 3 * kUnits}, 3);
  const trivet::GruWeights weights = {
      trivet::ops::mul(tensor(*device, {kUnits, 3 * kUnits}, 4), 0.1f),
      tensor(*device, {kUnits}, 5)};
  const auto last_of = [](const Tensor& y) {
    return trivet::ops::reshape(part(y, 1, y.dim(1) - 1, y.dim(1)), {y.dim(0), y.dim(2)});
  };
  const Tensor whole = trivet::ops::lstm(gates, w).h, gru = trivet::ops::gru(gru_gates, weights);
  for (const auto& [first, end] : {std::pair{0, kRows}, {3, 4}, {2, 15}}) {
    INFO("rows " << first << " to " << end);
    trivet::LstmState state;
    Tensor h;
    for (const auto& [from, to] : {std::pair{0, 1}, {1, 2}, {2, 5}, {5, 6}}) {
      const auto rows = [&](const Tensor& x) { return part(part(x, 0, first, end), 1, from, to); };
      const trivet::LstmResult y = trivet::ops::lstm(rows(gates), w, state);
      CHECK(bits_of(y.h) == bits_of(rows(whole)));
      state = {last_of(y.h), y.last_c};
      const Tensor next = trivet::ops::gru(rows(gru_gates), weights, h);
      CHECK(bits_of(next) == bits_of(rows(gru)));
      h = last_of(next);
    }
  }
}

TEST_CASE("an image of a convolution has the same bits alone and with others", "[backend]") {
  const auto device = trivet::test::open_device("cpu/Highway");
  constexpr std::int64_t kImages = 70;
  for (const std::int64_t channels : {3, 32, 33}) {
    const Tensor x = tensor(*device, {kImages, 5, 7, channels}, 1);
    const Tensor w = tensor(*device, {3, 3, channels, channels}, 2);
    const Tensor b = tensor(*device, {channels}, 3);
    const auto convolve = [&](std::int64_t begin, std::int64_t end) {
      return trivet::ops::conv2d(part(x, 0, begin, end), w, b, {}, trivet::Activation::gelu);
    };
    const Tensor whole = convolve(0, kImages);
    for (const auto& [begin, end] :
         {std::pair<std::int64_t, std::int64_t>{0, 1}, {69, 70}, {2, 45}}) {
      INFO("images " << begin << " to " << end << ", " << channels << " channels");
      CHECK(bits_of(convolve(begin, end)) == bits_of(part(whole, 0, begin, end)));
    }
  }
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// ops::scan with a running sum, whose states are known.
#include "trivet/recurrent/scan.h"

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::test {

using Catch::Contains;

TEST_CASE("scan calls the step at each position, and keeps the last state", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const auto tensor = [&](const std::vector<float>& values, const Shape& shape) {
      return Tensor::from<float>(*device, values, shape);
    };
    const Tensor x = tensor({1, 2, 4, 8}, {1, 4, 1});
    std::vector<std::int64_t> order;
    const auto summed = [&](const ScanOptions& options, float first) {
      order.clear();
      RecurrentState state{tensor({first}, {1, 1})};
      const Tensor y = ops::scan(x, state, options,
                                 [&](const Tensor& now, const RecurrentState& before, auto t) {
                                   order.push_back(t);
                                   return RecurrentState{ops::add(before[0], now)};
                                 });
      CHECK(y.shape() == Shape{1, 4, 1});
      const std::size_t last = options.reverse ? 0 : 3;
      CHECK(state[0].to_host<float>().front() == y.to_host<float>()[last]);
      return y.to_host<float>();
    };
    using Values = std::vector<float>;
    CHECK(summed({}, 100) == Values{101, 103, 107, 115});
    CHECK(order == std::vector<std::int64_t>{0, 1, 2, 3});
    CHECK(summed({.reverse = true}, 100) == Values{115, 114, 112, 108});
    CHECK(order == std::vector<std::int64_t>{3, 2, 1, 0});
    const Tensor mark = tensor({0, 0, 1, 0}, {1, 4});
    CHECK(summed({.starts = mark}, 100) == Values{101, 103, 4, 12});
    CHECK(summed({.paddings = mark}, 100) == Values{101, 103, 103, 111});
    CHECK(summed({.starts = mark, .paddings = mark}, 100) == Values{101, 103, 0, 8});
    CHECK(summed({.reverse = true, .starts = mark}, 100) == Values{7, 6, 4, 108});
  }
}

TEST_CASE("scan reports what it cannot read", "[ops]") {
  const auto device = open_any();
  const auto step = [](const Tensor&, const RecurrentState& before, std::int64_t) {
    return before;
  };
  RecurrentState state{Tensor::zeros(*device, {2, 1})}, none;
  const Tensor x = Tensor::zeros(*device, {2, 3, 1});
  CHECK_THROWS_WITH(ops::scan(Tensor::zeros(*device, {2, 0, 1}), state, {}, step),
                    Contains("[scan] expected x [B, T, ..] with T >= 1, and a state"));
  CHECK_THROWS_WITH(ops::scan(x, none, {}, step), Contains("and a state"));
  CHECK_THROWS_WITH(ops::scan(x, state, {.starts = Tensor::zeros(*device, {2, 4})}, step),
                    Contains("[scan] expected starts [B, T]"));
}

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
// An nn/MultiHeadAttention with random parameters, against formulas in double.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "trivet/testing/layer_check.h"

namespace trivet::test {

class AttentionFixture : public LayerFixture {
 public:
  static constexpr std::size_t kLength = 5, kDims = 8, kHeads = 2, kDepth = 4;
  // Sums of at most a hundred products in f32, an exponential and a root.
  static constexpr double kTolerance = 2e-5;

  AttentionFixture(const std::string& backend,
                   std::initializer_list<std::pair<std::string_view, Value>> more)
      : LayerFixture(backend, {"nn/MultiHeadAttention", fields(more)}) {
    std::uint64_t seed = 30;
    for (const auto& parameter : store().parameters()) {
      if (parameter->path().ends_with("/w")) continue;
      set(parameter->path().substr(std::string("layer/").size()),
          random_values(parameter->shape().size(), ++seed));
    }
  }

  static Value fields(std::initializer_list<std::pair<std::string_view, Value>> more) {
    Value all = Value::table({{"input_dims", kDims}, {"num_heads", kHeads}});
    for (const auto& [name, value] : more) all.set(name, value);
    return all;
  }

  Tensor ids(const std::vector<std::int32_t>& of_a_row) const {
    std::vector<std::int32_t> both = of_a_row;
    both.insert(both.end(), of_a_row.begin(), of_a_row.end());
    return Tensor::from<std::int32_t>(device(), both, {2, kLength});
  }

  Weights weights() const {
    return [this](const std::string& path) {
      return store().find("layer/" + path) != nullptr ? values(path) : std::vector<float>();
    };
  }

  // Checks two sequences against `want` of each.
  void check(const std::function<Rows(const Rows&)>& want, FpropContext context = {}) const {
    const std::vector<float> x = random_values(2 * kLength * kDims, 3);
    const Tensor y = layer().fprop(tensor(x, {2, kLength, kDims}), context);
    std::vector<Rows> wanted;
    for (const Rows& rows : sequences(x, kLength, kDims)) wanted.push_back(want(rows));
    CHECK(largest_error(y.to_host<float>(), flattened(wanted)) < kTolerance);
  }
  void check(const Heads& heads, const FpropContext& context = {}) const {
    check([&](const Rows& x) { return attention(x, weights(), heads); }, context);
  }

  void check_gradients() const {
    const Tensor x = tensor(random_values(2 * 4 * kDims, 21), {2, 4, kDims});
    CHECK(testing::check_layer_gradients(layer(), store(), x) == "");
  }
};

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
// Points of the user: what they lack comes from the sampler, and mistakes are refused.
#include "search/study/enqueued.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace enqueued_test {

using namespace trivet;
using Catch::Matchers::Contains;

namespace {

search::SearchSpace models() {
  Map<search::DimensionConfig> config;
  config["model"].choice = std::vector<Value>{"mlp", "cnn"};
  config["lr"].log_uniform = {1e-4, 1};
  config["kernels"].int_ = {1, 8};
  config["kernels"].when["model"] = "cnn";
  return search::SearchSpace(config);
}

Map<Value> given(std::vector<std::pair<std::string, Value>> entries) {
  Map<Value> map;
  for (auto& [key, value] : entries) map[key] = std::move(value);
  return map;
}

search::SearchPoint filled(const Map<Value>& entries) {
  const search::SearchSpace space = models();
  const search::SearchPoint asked = {{"model", Value("mlp")}, {"lr", Value(0.25)}};
  return with_given(space, asked, in_order_of(space, entries));
}

std::string mistake(const Map<Value>& entries) {
  Diagnostics diagnostics;
  check_enqueued(models(), entries, "enqueue[2]", diagnostics);
  try {
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a point has the user's values as given and the sampler's for the rest") {
  CHECK(filled(given({{"lr", 0.01}})) ==
        search::SearchPoint{{"model", Value("mlp")}, {"lr", Value(0.01)}});
  // A key that the sampler's point did not have is in the middle of its range.
  CHECK(filled(given({{"model", "cnn"}, {"lr", 1}})) ==
        search::SearchPoint{{"model", Value("cnn")}, {"lr", Value(1.0)}, {"kernels", Value(5)}});
  CHECK(filled(given({{"kernels", 7}, {"model", "cnn"}})) ==
        search::SearchPoint{{"model", Value("cnn")}, {"lr", Value(0.25)}, {"kernels", Value(7)}});
  CHECK(filled({}) == search::SearchPoint{{"model", Value("mlp")}, {"lr", Value(0.25)}});
}

TEST_CASE("a point of the user that the space does not have is refused by its key") {
  CHECK(mistake(given({{"lr", 0.01}})).empty());
  CHECK(mistake({}).empty());
  CHECK_THAT(mistake(given({{"rl", 0.01}})),
             Contains("enqueue[2].rl: 'rl' is not searched") && Contains("did you mean 'lr'?"));
  CHECK_THAT(mistake(given({{"lr", 2.0}})), Contains("enqueue[2].lr: 2.0 is no value of 'lr'"));
  CHECK_THAT(mistake(given({{"lr", "x"}})), Contains("is no value of 'lr'"));
  CHECK_THAT(mistake(given({{"kernels", 3}})),
             Contains("'kernels' has a condition on 'model', which is not given"));
  CHECK_THAT(mistake(given({{"kernels", 3}, {"model", "mlp"}})),
             Contains("the conditions of 'kernels' do not hold for the other values"));
}

}  // namespace enqueued_test

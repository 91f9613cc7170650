// SPDX-License-Identifier: Apache-2.0
// Conditions of a search space: which keys a point has, and mistakes.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/search/search_space.h"

using namespace trivet;
using Catch::Matchers::Contains;
using search::DimensionConfig;
using search::SearchPoint;
using search::SearchSpace;

namespace search_space_conditions_test {
namespace {

DimensionConfig choice(std::vector<Value> values) {
  DimensionConfig config;
  config.choice = std::move(values);
  return config;
}

DimensionConfig integers(std::int64_t low, std::int64_t high) {
  DimensionConfig config;
  config.int_ = {low, high};
  return config;
}

// kernel exists for cnn and vit, stride for kernels of 3, width always.
Map<DimensionConfig> tree() {
  Map<DimensionConfig> config;
  config["stride"] = integers(1, 2);
  config["stride"].when["kernel"] = 3;
  config["kernel"] = integers(1, 4);
  config["kernel"].when["model"] = Value::array({"cnn", "vit"});
  config["model"] = choice({"mlp", "cnn", "vit"});
  config["width"].uniform = {0, 8};
  return config;
}

std::string mistakes(const Map<DimensionConfig>& config) {
  try {
    const SearchSpace space(config);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

std::vector<std::string> keys(const SearchPoint& point) {
  std::vector<std::string> keys;
  for (const auto& entry : point) keys.push_back(entry.first);
  return keys;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("a point has the keys whose conditions hold, in the order of the space") {
  const SearchSpace space(tree());
  CHECK(space.is_conditional());
  // Coordinates of stride, kernel, model, width. Kernels have cells of 1/4, models of 1/3.
  CHECK(keys(space.point(std::vector{0.1, 0.6, 0.1, 0.5})) == Keys{"model", "width"});
  CHECK(keys(space.point(std::vector{0.1, 0.1, 0.5, 0.5})) == Keys{"kernel", "model", "width"});
  const SearchPoint all = space.point(std::vector{0.1, 0.6, 0.9, 0.5});
  CHECK(keys(all) == Keys{"stride", "kernel", "model", "width"});
  CHECK(all[1].second == Value(3));
  CHECK(space.active(std::vector{0.1, 0.6, 0.1, 0.5}) ==
        std::vector<bool>{false, false, true, true});
}

TEST_CASE("a key that a point does not have is in the middle of the cube") {
  const SearchSpace space(tree());
  const SearchPoint point = {{"width", Value(2.0)}, {"model", Value("mlp")}};
  CHECK(space.unit(point) == std::vector{0.5, 0.5, 1.0 / 6, 0.25});
  for (const double model : {0.1, 0.5, 0.9}) {
    for (const double kernel : {0.1, 0.6, 0.9}) {
      const SearchPoint one = space.point(std::vector{0.9, kernel, model, 0.5});
      CHECK(space.point(space.unit(one)) == one);
    }
  }
}

TEST_CASE("a point that does not fit the conditions is refused by its key") {
  const SearchSpace space(tree());
  CHECK_THROWS_WITH(
      space.unit({{"model", Value("mlp")}, {"kernel", Value(3)}, {"width", Value(1.0)}}),
      Contains("kernel: a trial of the search has a value for this key, whose conditions"));
  CHECK_THROWS_WITH(space.unit({{"model", Value("cnn")}, {"width", Value(1.0)}}),
                    Contains("kernel: a trial of the search has no value"));
  CHECK_THROWS_WITH(space.unit({{"model", Value("mlp")}, {"width", Value(1.0)}, {"x", Value(1)}}),
                    Contains("x: a trial of the search sets a key that is not in its space"));
}

TEST_CASE("keys with the same conditions are a group") {
  Map<DimensionConfig> config = tree();
  const DimensionConfig kernel = config["kernel"];
  config["padding"] = kernel;
  CHECK(SearchSpace(config).groups() == std::vector<std::vector<std::size_t>>{{0}, {1, 4}, {2, 3}});
  Map<DimensionConfig> plain;
  plain["x"].uniform = {0, 1};
  plain["n"] = integers(0, 3);
  CHECK_FALSE(SearchSpace(plain).is_conditional());
  CHECK(SearchSpace(plain).groups() == std::vector<std::vector<std::size_t>>{{0, 1}});
}

TEST_CASE("mistakes in conditions are refused with their place and a hint") {
  Map<DimensionConfig> config = tree();
  config["kernel"].when = {};
  config["kernel"].when["modle"] = "cnn";
  CHECK_THAT(mistakes(config), Contains("space.kernel.when.modle: 'modle' is not searched") &&
                                   Contains("did you mean 'model'?"));
  config["kernel"].when = {};
  config["kernel"].when["model"] = Value::array({"cnn", "rnn"});
  CHECK_THAT(mistakes(config), Contains("space.kernel.when.model: \"rnn\" is no value of 'model'"));
  config["kernel"].when = {};
  config["kernel"].when["model"] = Value::array();
  CHECK_THAT(mistakes(config), Contains("space.kernel.when.model: lists no value"));
  config["kernel"].when = {};
  config["kernel"].when["width"] = 2.0;
  CHECK_THAT(mistakes(config), Contains("space.kernel.when.width: 'width' may have any number"));
}

TEST_CASE("conditions that wait for each other are refused") {
  Map<DimensionConfig> config = tree();
  config["model"].when["stride"] = 1;
  CHECK_THAT(mistakes(config),
             Contains("conditions wait for each other: stride -> kernel -> model -> stride"));
  Map<DimensionConfig> self;
  self["n"] = integers(0, 3);
  self["n"].when["n"] = 1;
  CHECK_THAT(mistakes(self), Contains("conditions wait for each other: n -> n"));
}

TEST_CASE("a dimension shows its conditions in messages") {
  CHECK(SearchSpace(tree()).dimensions()[1].text() ==
        "int = [1, 4], when = {model = [\"cnn\", \"vit\"]}");
}

}  // namespace search_space_conditions_test

// SPDX-License-Identifier: Apache-2.0
// What trivet/config/config_of.h shows: a config that holds configs of layers.
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/config.h>
#include <trivet/layer.h>
#include <trivet/model.h>

namespace config_of_example {

// [members]
struct MlpConfig : trivet::ModelConfig {
  // A key alone: that type with its defaults.
  trivet::ConfigOf<trivet::Layer> activation = "nn/Relu";
  std::vector<trivet::ConfigOf<trivet::Layer>> extra;
};
// [/members]
TRIVET_CONFIG(MlpConfig, trivet::ModelConfig, (activation, "Applied after each layer."),
              (extra, "Layers after it."))

TEST_CASE("example: a member that is a config has a key and fields, or neither") {
  using trivet::Value;
  CHECK(MlpConfig().activation.key() == "nn/Relu");
  const Value gelu = Value::table({{"type", "nn/Gelu"}, {"approximate", true}});
  const auto config = trivet::decode<MlpConfig>(
      Value::table({{"activation", "none"}, {"extra", Value::array({gelu, "nn/Gelu"})}}));
  CHECK_FALSE(config.activation.has_value());
  REQUIRE(config.extra.size() == 2);
  CHECK(config.extra[0].key() == config.extra[1].key());
  CHECK(config.extra[0].fields().find("approximate")->as_boolean());
  CHECK(config.extra[1].fields().members().empty());
}

}  // namespace config_of_example

// SPDX-License-Identifier: Apache-2.0
// What trivet/config.h shows: a config struct, read, written, compared and described.
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/config.h>
#include <trivet/error.h>
#include <trivet/layer.h>

namespace config_struct_example {

// [struct]
enum class Padding { same, valid };
TRIVET_ENUM(Padding, same, valid)

struct ConvConfig : trivet::LayerConfig {  // or no base struct at all
  std::int64_t channels = 0;
  std::vector<std::int64_t> kernel = {3, 3};
  Padding padding = Padding::same;
  trivet::ConfigOf<trivet::Layer> activation = "nn/Relu";
};
TRIVET_CONFIG(ConvConfig, trivet::LayerConfig,  // trivet::NoBase when there is none
              (channels, "Number of filters.", required, at_least(1)),
              (kernel, "Height and width of the window.", at_least(1)),
              (padding, "Padding at the border."), (activation, "Applied to the output."))
// [/struct]

TEST_CASE("example: a config struct is read, written, compared and described") {
  const auto value = trivet::Value::table({{"channels", 8}, {"padding", "valid"}});
  // [functions]
  auto config = trivet::decode<ConvConfig>(value);  // throws ConfigError with all problems
  trivet::Value back = trivet::encode(config);      // decodes to an equal config
  bool same = trivet::equal(config, trivet::decode<ConvConfig>(back));
  const trivet::Schema& schema = trivet::schema_of<ConvConfig>();
  // [/functions]
  CHECK(config.channels == 8);
  CHECK(config.padding == Padding::valid);
  CHECK(config.activation.key() == "nn/Relu");
  CHECK(same);
  CHECK(schema.find("channels")->required);
  const auto wrong = trivet::Value::table({{"kernel", trivet::Value::array({0, 3})}});
  try {
    trivet::decode<ConvConfig>(wrong);
    FAIL("two problems were not seen");
  } catch (const trivet::ConfigError& error) {
    CHECK(error.diagnostics().size() == 2);  // channels is missing, kernel is too small
  }
}

}  // namespace config_struct_example

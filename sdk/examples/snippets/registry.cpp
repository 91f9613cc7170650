// SPDX-License-Identifier: Apache-2.0
// What trivet/plugin/registry.h shows: an object is made from a config, and a new kind of object.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/config.h>
#include <trivet/layer.h>
#include <trivet/object.h>
#include <trivet/plugin/registry.h>

#include "fixtures.h"

namespace registry_example {

struct DenseConfig {
  trivet::ConfigOf<trivet::Layer> activation = "nn/Relu";
};

TEST_CASE("example: the registry makes the layer of a config") {
  snippets::use_plugin("nn");
  const auto device = snippets::open_device();
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  trivet::Scope scope(store);
  const DenseConfig config;
  // [make]
  std::unique_ptr<trivet::Layer> layer = trivet::make(config.activation, scope);
  // [/make]
  trivet::FpropContext context;
  const auto x = trivet::Tensor::from<float>(*device, std::vector<float>{-1, 2}, {2});
  CHECK(layer->fprop(x, context).to_host<float>() == std::vector<float>{0, 2});
}

struct BellConfig {
  std::string tone = "c";
};
TRIVET_CONFIG(BellConfig, trivet::NoBase, (tone, "What it sounds like."))

// [kind]
class Bell : public trivet::Object {
 public:
  static constexpr std::string_view kKind = "bell";
  using Config = BellConfig;          // base of every T::Config
  using Context = trivet::NoContext;  // or what is handed to constructors
  virtual std::string ring() const = 0;
};
// [/kind]

class HandBell final : public Bell {
 public:
  using Config = BellConfig;
  explicit HandBell(Config config) : config_(std::move(config)) {}
  std::string ring() const override { return config_.tone; }

  static void* make(const trivet::ConfigValue& value, void*) {
    return static_cast<Bell*>(new HandBell(trivet::decode<Config>(value.fields(), value.path())));
  }

 private:
  Config config_;
};

TEST_CASE("example: a base class is a kind of object that the registry makes") {
  trivet::registry().add({.name = "tower", .file = "tower.so"},
                         {{.kind = std::string(Bell::kKind),
                           .key = "tower/HandBell",
                           .schema = &trivet::schema_of<BellConfig>,
                           .make = &HandBell::make}});
  const trivet::ConfigOf<Bell> config("tower/HandBell", trivet::Value::table({{"tone", "g"}}));
  CHECK(trivet::make(config)->ring() == "g");
}

}  // namespace registry_example

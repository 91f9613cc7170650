// SPDX-License-Identifier: Apache-2.0
// What trivet/error.h and trivet/plugin/plugin_call.h show: an error, and whose it is.
#include <memory>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include <trivet/error.h>
#include <trivet/layer.h>
#include <trivet/plugin/plugin_call.h>
#include <trivet/plugin/registry.h>

namespace errors_example {

using namespace trivet;

namespace {

void read_labels() {
  // [throw]
  throw InputError("labels.gz: magic number 2049 expected, found 2051",
                   {.hint = "this looks like an image file"});
  // [/throw]
}

class Failing final : public Layer {
 public:
  Tensor fprop(const Tensor&, FpropContext&) override { throw std::runtime_error("no sun"); }
};

}  // namespace

TEST_CASE("example: an error says what happened and what to do about it") {
  try {
    read_labels();
    FAIL("it did not throw");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 1);
    CHECK(error.message() == "labels.gz: magic number 2049 expected, found 2051");
    CHECK_THAT(error.what(), Catch::Contains("this looks like an image file"));
  }
}

TEST_CASE("example: what leaves a call of a plugin names the plugin, the method and the path") {
  RegistryItem acme{.kind = "layer", .key = "acme/Failing"};
  acme.plugin = std::make_shared<const PluginInfo>(PluginInfo{.name = "acme"});
  const RegistryItem* item = &acme;
  const std::string path = "task.model.layers[2]";
  const auto layer = std::make_unique<Failing>();
  const Tensor x;
  FpropContext context;
  const auto call = [&] {
    // [call]
    const Tensor y = in_plugin(item, "fprop", path, [&] { return layer->fprop(x, context); });
    // [/call]
  };
  CHECK_THROWS_AS(call(), PluginError);
  CHECK_THROWS_WITH(call(),
                    "task.model.layers[2]: its fprop failed: no sun [plugin acme, "
                    "acme/Failing]");
}

}  // namespace errors_example

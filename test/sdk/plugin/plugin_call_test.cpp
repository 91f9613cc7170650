// SPDX-License-Identifier: Apache-2.0
// Calls of plugins are traced while they run, and their exceptions name the plugin.
#include "trivet/plugin/plugin_call.h"

#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "trivet/config.h"
#include "trivet/plugin/registry.h"

namespace plugin_call_test {

using Catch::Contains;
using trivet::in_plugin;
using trivet::PluginCall;
using trivet::Registry;
using trivet::RegistryItem;

namespace {

class Clock {
 public:
  virtual ~Clock() = default;
};
class Sundial final : public Clock {};
class Hourglass final : public Clock {};

RegistryItem item_of_plugin(const std::string& name) {
  RegistryItem item{.kind = "clock", .key = name + "/Sundial"};
  item.plugin = std::make_shared<const trivet::PluginInfo>(trivet::PluginInfo{.name = name});
  return item;
}

std::string said_by(const RegistryItem& item, void (*body)()) {
  try {
    in_plugin(&item, "tick", "hall.clock", body);
  } catch (const trivet::Error& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("the innermost call of a plugin is the current one, as long as it lasts") {
  const RegistryItem outer = item_of_plugin("outer"), inner = item_of_plugin("inner");
  CHECK(PluginCall::current() == nullptr);
  {
    const PluginCall one(&outer, "tick", "hall");
    CHECK(PluginCall::current()->item().key == "outer/Sundial");
    CHECK(Registry::current() == &outer);
    {
      const PluginCall nobody(nullptr, "tock");
      CHECK(PluginCall::current() == &one);
      const PluginCall two(&inner, "tock", "hall.clock");
      CHECK(PluginCall::current()->method() == std::string("tock"));
      CHECK(PluginCall::current()->path() == std::string("hall.clock"));
    }
    CHECK(PluginCall::current() == &one);
  }
  CHECK(PluginCall::current() == nullptr);
}

TEST_CASE("an exception from a plugin call names the plugin") {
  const RegistryItem item = item_of_plugin("acme");
  CHECK(said_by(item, [] { throw std::runtime_error("no sun"); }) ==
        "hall.clock: its tick failed: no sun [plugin acme, acme/Sundial]");
  CHECK(said_by(item, [] { throw 7; }) ==
        "hall.clock: its tick threw something that is not a std::exception [plugin acme, "
        "acme/Sundial]");
  CHECK_THAT(said_by(item, [] { throw std::bad_alloc(); }), Contains("out of memory"));
  CHECK(said_by(item, [] { throw trivet::RunError("late", {.plugin = "own", .key = "own/X"}); }) ==
        "late [plugin own, own/X]");  // where it usually is is no news
  CHECK_THROWS_WITH(
      in_plugin(&item, "tick", std::string("attic"), [] { throw trivet::RunError("late"); }),
      "attic: late [plugin acme, acme/Sundial]");
  CHECK_THROWS_AS(in_plugin(&item, "tick", "", [] { throw std::runtime_error("x"); }),
                  trivet::PluginError);
  CHECK_THROWS_AS(in_plugin(&item, "tick", "", [] { throw trivet::InputError("x"); }),
                  trivet::InputError);
  CHECK_THROWS_AS(in_plugin(nullptr, "tick", "", [] { throw 7; }), int);
  CHECK(PluginCall::current() == nullptr);
}

TEST_CASE("an object knows the item of its class, however it was made") {
  const Sundial before;
  CHECK(trivet::item_of<Clock>(before) == nullptr);
  {
    Registry registry;
    registry.add({.name = "acme", .file = "a"},
                 {{.kind = "clock",
                   .key = "acme/Sundial",
                   .make = [](const trivet::ConfigValue&, void*) -> void* {
                     return static_cast<Clock*>(new Sundial);
                   }}});
    const trivet::ConfigValue config("acme/Sundial", trivet::Value::table());
    const std::unique_ptr<Clock> made(static_cast<Clock*>(registry.make("clock", config, nullptr)));
    CHECK(trivet::item_of(*made)->key == "acme/Sundial");
    CHECK(trivet::item_of<Clock>(before) == trivet::item_of(*made));
    const Hourglass other;
    CHECK(trivet::item_of<Clock>(other) == nullptr);
  }
  CHECK(trivet::item_of<Clock>(before) == nullptr);
}

TEST_CASE("a factory that returns null is an error of its plugin") {
  Registry registry;
  registry.add({.name = "acme", .file = "a"},
               {{.kind = "clock",
                 .key = "acme/None",
                 .make = [](const trivet::ConfigValue&, void*) -> void* { return nullptr; }}});
  const trivet::ConfigValue config("acme/None", trivet::Value::table());
  CHECK_THROWS_WITH(registry.make("clock", config, nullptr),
                    Contains("its factory returned no object [plugin acme, acme/None]"));
}

}  // namespace plugin_call_test

// SPDX-License-Identifier: Apache-2.0
// The plugin host with valid plugins: found by their notes, loaded when needed.
#include <link.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <thread>

#include <catch2/catch.hpp>

#include "host/host_lookup.h"
#include "host/loaded_plugins.h"
#include "support/plugin_folder.h"
#include "trivet/schedule.h"

using namespace trivet;
using Catch::StartsWith;
using trivet::test::PluginFolder;
using trivet::test::state_of;

namespace {

namespace fs = std::filesystem;

// Whether this process has loaded a library with this file name.
bool is_open(const std::string& path) {
  struct Search {
    const std::string& path;
    bool found = false;
  } search{path};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        wanted.found = wanted.found || wanted.path == info->dlpi_name;
        return 0;
      },
      &search);
  return search.found;
}

std::unique_ptr<Schedule> make_with(Registry& registry, const ConfigOf<Schedule>& config) {
  return std::unique_ptr<Schedule>(
      static_cast<Schedule*>(registry.make(Schedule::kKind, config, nullptr)));
}

}  // namespace

TEST_CASE("a scan reads everything about a plugin and loads nothing") {
  const PluginFolder folder;
  const fs::path file = fs::canonical(folder.copy("alpha"));
  Registry registry;
  PluginHost host(folder.search(), registry);
  const PluginFile alpha = state_of(host, "alpha");
  CHECK(alpha.state == PluginState::available);
  CHECK(alpha.manifest->version == "1.2.3");
  CHECK(alpha.manifest->license == "Apache-2.0");
  CHECK(host.keys("schedule") == std::vector<std::string>{"alpha/Constant", "alpha/Sum"});
  CHECK(host.items("alpha/Sum")[0].doc == "Adds others.");
  CHECK(host.for_number("schedule")[0].key == "alpha/Constant");

  HostLookup lookup(host, UnknownDefaults::leave, registry);
  Diagnostics diagnostics;
  const Schema* schema = lookup.find("schedule", "alpha/Constant", {}, "lr", diagnostics);
  REQUIRE(schema != nullptr);
  CHECK(schema->find("value")->required);
  CHECK(schema->find("mode")->type.choices == std::vector<std::string>{"calm", "wild"});
  CHECK(range_text(*schema->find("value")) == "in [0, 10]");
  CHECK_FALSE(is_open(file));
}

TEST_CASE("a plugin is loaded on the first use of one of its keys and stays loaded") {
  const PluginFolder folder;
  const fs::path file = fs::canonical(folder.copy("alpha"));
  {
    Registry registry;
    PluginHost host(folder.search(), registry);
    const auto schedule =
        make_with(registry, ConfigOf<Schedule>("alpha/Constant", Value::table({{"value", 3}})));
    CHECK(schedule->value(7) == 3);
    CHECK(state_of(host, "alpha").state == PluginState::loaded);
    CHECK(registry.find("schedule", "alpha/Sum") != nullptr);
  }
  CHECK(is_open(file));
}

TEST_CASE("plugins of two compilers exchange objects, and equal names do not collide") {
  const PluginFolder folder;
  folder.copy("alpha");
  folder.copy("beta");
  PluginHost host(folder.search());  // objects inside constructors come from the process's registry
  const Value constant = Value::table({{"type", "alpha/Constant"}, {"value", 5}});
  const ConfigOf<Schedule> config("beta/Times", Value::table({{"times", 3}, {"inner", constant}}));
  CHECK(trivet::make(config)->value(0) == 15);
  for (const LoadedPlugin& plugin : loaded_plugins()) {
    if (plugin.name != "alpha" && plugin.name != "beta") continue;
    // A sanitizer leaves a gap before the linker's note, which must be found all the same.
    CHECK_THAT(plugin.digest, StartsWith("build-id:"));
  }

  // Both plugins have a struct alpha::ConstantConfig; each is a separate item.
  const Value bad = Value::table({{"type", "alpha/Constant"}, {"value", 5}, {"times", 3}});
  const ConfigOf<Schedule> wrong("beta/Times", Value::table({{"inner", bad}}));
  CHECK_THROWS_WITH(trivet::make(wrong), Catch::Contains("unknown key 'times'"));

  CHECK(registry().get("experiment", "alpha/two").value != nullptr);
  const Value experiment = registry().experiment("alpha/two");
  const ConfigOf<Schedule> sum("alpha/Sum", experiment);
  CHECK(trivet::make(sum)->value(0) == 2);

  const auto number = ConfigValue::from_value(Value(4), "schedule", "lr");
  CHECK(number.key() == "alpha/Constant");
}

TEST_CASE("simultaneous requests of threads load a plugin once", "[tsan]") {
  const PluginFolder folder;
  folder.copy("alpha");
  Registry registry;
  PluginHost host(folder.search(), registry);
  HostLookup lookup(host, UnknownDefaults::leave, registry);
  constexpr int kThreads = 8;
  std::latch start(kThreads);
  std::array<double, kThreads> values{};
  std::array<bool, kThreads> described{};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      Diagnostics diagnostics;
      described[i] = lookup.find("schedule", "alpha/Sum", {}, "lr", diagnostics) != nullptr;
      const ConfigOf<Schedule> config("alpha/Constant", Value::table({{"value", i}}));
      values[i] = make_with(registry, config)->value(0);
      host.load_plugin("alpha");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) {
    CHECK(values[i] == i);
    CHECK(described[i]);
  }
  CHECK(state_of(host, "alpha").state == PluginState::loaded);
}

TEST_CASE("an exception in a constructor names plugin, key and config path") {
  const PluginFolder folder;
  folder.copy("alpha");
  Registry registry;
  PluginHost host(folder.search(), registry);
  const auto message = [&](const char* trouble) -> std::string {
    const Value table =
        Value::table({{"type", "alpha/Constant"}, {"value", 1}, {"trouble", trouble}});
    try {
      make_with(registry,
                ConfigOf<Schedule>(ConfigValue::from_value(table, "schedule", "trainer.lr")));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message("standard") == "trainer.lr: thrown in alpha [plugin alpha, alpha/Constant]");
  CHECK(message("int") ==
        "trainer.lr: threw something that is not a std::exception [plugin alpha, alpha/Constant]");
  CHECK(message("config") == "here: bad in alpha [plugin alpha, alpha/Constant]");
}

TEST_CASE("the error for an unknown key lists the searched folders and similar keys") {
  const PluginFolder folder;
  folder.copy("alpha");
  Registry registry;
  PluginHost host(folder.search(), registry);
  CHECK_THROWS_WITH(registry.get("schedule", "alpha/Constnt", {.file = "c.toml", .line = 2}, "lr"),
                    Catch::StartsWith("c.toml:2: lr: there is no schedule 'alpha/Constnt'") &&
                        Catch::Contains("did you mean 'alpha/Constant'?") &&
                        Catch::Contains(folder.path().filename().string()) &&
                        Catch::Contains("(alpha)"));
  CHECK_THROWS_WITH(registry.get("schedule", "gamma/X"),
                    Catch::Contains("known: alpha/Constant, alpha/Sum"));
  CHECK_THROWS_WITH(registry.get("layer", "alpha/Sum"), Catch::Contains("it is a schedule"));
  HostLookup lookup(host, UnknownDefaults::leave, registry);
  Diagnostics diagnostics;
  CHECK(lookup.find("schedule", "alpha/Constnt", {}, "lr", diagnostics) == nullptr);
  CHECK(diagnostics.list().size() == 1);
}

TEST_CASE("a whole config is checked through the notes, at every depth") {
  const PluginFolder folder;
  folder.copy("alpha");
  Registry registry;
  PluginHost host(folder.search(), registry);
  HostLookup lookup(host, UnknownDefaults::leave, registry);
  Diagnostics diagnostics;
  const Schema* schema = lookup.find("schedule", "alpha/Sum", {}, {}, diagnostics);
  const Value config = Value::table(
      {{"terms", Value::array({3, "alpha/Sum", "alpha/Smu", 11,
                               Value::table({{"type", "alpha/Constant"}, {"vlaue", 1}})})}});
  validate(config, *schema, &lookup, diagnostics, {.path = "lr"});
  std::vector<std::string> paths;
  for (const Diagnostic& problem : diagnostics.list()) paths.push_back(problem.path);
  CHECK(paths == std::vector<std::string>{"lr.terms[2]", "lr.terms[3].value", "lr.terms[4]",
                                          "lr.terms[4].vlaue"});
  CHECK(state_of(host, "alpha").state == PluginState::available);
}

TEST_CASE("the first plugin of a name shadows those in later folders") {
  const PluginFolder first, second;
  first.copy("alpha");
  second.copy("alpha");
  auto search = first.search();
  search.push_back(second.search()[0]);
  Registry registry;
  PluginHost host(search, registry);
  const auto files = host.files();
  REQUIRE(files.size() == 2);
  CHECK(files[0].state == PluginState::available);
  CHECK(files[1].state == PluginState::shadowed);
  CHECK(files[1].reason.find(files[0].path.string()) != std::string::npos);
}

TEST_CASE("a file that is reached twice is one plugin") {
  const PluginFolder folder;
  folder.copy("alpha");
  fs::create_symlink("alpha.so", folder.path() / "link.so");
  Registry registry;
  PluginHost host(folder.search(), registry);
  CHECK(host.files().size() == 1);
}

TEST_CASE("folders come from the options, the variable, the user and the installation") {
  const PluginFolder option, variable;
  const char* const before = std::getenv("TRIVET_PLUGIN_PATH");
  const std::string saved = before != nullptr ? before : "";
  setenv("TRIVET_PLUGIN_PATH", (":relative:" + variable.path().string() + "::").c_str(), 1);
  const auto found = plugin_search_path({option.path().string(), "/not/there"});
  setenv("TRIVET_PLUGIN_PATH", saved.c_str(), 1);
  REQUIRE(found.size() >= 5);
  CHECK(found[0].path == fs::canonical(option.path()));
  CHECK(found[0].error.empty());
  CHECK(found[1].error == "the folder does not exist");
  CHECK(found[2].path == "relative");
  CHECK_THAT(found[2].error, Catch::Contains("not an absolute path"));
  CHECK(found[3].path == fs::canonical(variable.path()));
  CHECK(found[4].source == "user");
  for (const SearchDirectory& directory : found) CHECK(directory.path != fs::current_path());
}

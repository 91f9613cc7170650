// SPDX-License-Identifier: Apache-2.0
// The registry and TRIVET_PLUGIN, with a plugin that is part of this test program: its entry is
// called as by the host.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "trivet/plugin.h"

namespace registry_test {

struct Shelf {
  std::string name;
};

struct ToolConfig {
  std::string label{};
};
TRIVET_CONFIG(ToolConfig, trivet::NoBase, (label, "A label."))

class Tool {
 public:
  static constexpr std::string_view kKind = "tool";
  using Config = ToolConfig;
  using Context = Shelf;
  virtual ~Tool() = default;
  virtual double use() const = 0;
};

class Knob {
 public:
  static constexpr std::string_view kKind = "knob";
  using Config = trivet::detail::NoConfig;
  using Context = trivet::NoContext;
  virtual ~Knob() = default;
};

struct HammerConfig : ToolConfig {
  double weight = 2.5;
  trivet::ConfigOf<Tool> spare = "bench/Saw";
};
TRIVET_CONFIG(HammerConfig, ToolConfig,
              (weight, "Kilograms, \"heavy\" or\tnot.", required, more_than(0)),
              (spare, "Used when it breaks."))

// Takes the context and makes another tool with it.
class Hammer final : public Tool {
 public:
  using Config = HammerConfig;
  Hammer(Config config, Shelf& shelf) : config_(std::move(config)), shelf_(shelf) {
    if (config_.spare.has_value()) spare_ = trivet::make(config_.spare, shelf);
  }
  double use() const override { return config_.weight + (spare_ ? spare_->use() : 0); }
  const Shelf& shelf() const { return shelf_; }

 private:
  Config config_;
  Shelf& shelf_;
  std::unique_ptr<Tool> spare_;
};

struct SawConfig : ToolConfig {
  double teeth = 8;
  std::string trouble = "";
};
TRIVET_CONFIG(SawConfig, ToolConfig, (teeth, "How many.", at_least(1)),
              (trouble, "What its constructor throws."))

class Saw final : public Tool {
 public:
  using Config = SawConfig;
  explicit Saw(Config config) : config_(std::move(config)) {
    if (config_.trouble == "config") {
      throw trivet::ConfigError(trivet::Diagnostic{.path = "saw", .what = "blunt"});
    }
    if (config_.trouble == "input") throw trivet::InputError("no wood");
    if (config_.trouble == "standard") throw std::out_of_range("too long");
    if (config_.trouble == "own") throw Trouble{};
    if (config_.trouble == "int") throw 42;
  }
  double use() const override { return config_.teeth; }

 private:
  struct Trouble : std::exception {
    const char* what() const noexcept override { return "private trouble"; }
  };
  Config config_;
};

struct RulerConfig : ToolConfig {
  double length = 1;
  void validate(trivet::Diagnostics& diagnostics) const {
    if (label.empty()) diagnostics.add("label", "a ruler has one");
  }
};
TRIVET_CONFIG(RulerConfig, ToolConfig, (length, "Meters."))

class Ruler final : public Tool {
 public:
  using Config = RulerConfig;
  explicit Ruler(const Config& config) : length_(config.length) {}
  double use() const override { return length_; }

 private:
  double length_;
};

struct Table {
  int answer;
};
const Table* table() {
  static constexpr Table kTable{42};
  return &kTable;
}
const Table* no_table() {
  return nullptr;
}

SawConfig saw(double teeth) {
  SawConfig config;
  config.teeth = teeth;
  return config;
}
SawConfig small_saw() {
  return saw(3);
}

template <class T, class... A>
constexpr auto tool(std::string_view name, std::string_view doc, A... attribute) {
  return trivet::detail::with_text(trivet::detail::ClassItem<Tool, T>{}, name, doc, attribute...);
}

}  // namespace registry_test

TRIVET_PLUGIN(({.name = "bench", .version = "1.2.3", .license = "MIT", .doc = "Tools \\ more."}),
              registry_test::tool<registry_test::Hammer>("Hammer", "Hits."),
              registry_test::tool<registry_test::Saw>("Saw", "Cuts.",
                                                      trivet::scalar_shorthand("teeth")),
              trivet::backend<&registry_test::table>("Plain", "A table."),
              trivet::backend<&registry_test::no_table>("Missing", "No table."),
              trivet::experiment<&registry_test::small_saw>("small_saw", "A whole config."))

using namespace registry_test;
using trivet::ConfigOf;
using trivet::Registry;
using trivet::RegistryItem;
using trivet::Value;

namespace {

class Collector : public trivet::Registrar {
 public:
  void add(RegistryItem item) override { items.push_back(std::move(item)); }
  std::vector<RegistryItem> items;
};

std::vector<RegistryItem> items_of_entry() {
  Collector collector;
  trivet_host_v1 host{};
  host.struct_size = sizeof host;
  host.registrar = static_cast<trivet::Registrar*>(&collector);
  char error[64] = "";
  REQUIRE(trivet_plugin_entry_v1.init(&host, error, sizeof error) == 0);
  return std::move(collector.items);
}

// The process's registry with the plugin above, filled once.
Registry& bench() {
  static const bool kFilled = [] {
    trivet::registry().add({.name = "bench", .version = "1.2.3", .file = "/x/bench.so"},
                           items_of_entry());
    return true;
  }();
  (void)kFilled;
  return trivet::registry();
}

std::string message_of(const ConfigOf<Tool>& config) {
  Shelf shelf;
  try {
    trivet::make(config, shelf);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

ConfigOf<Tool> saw_with(const char* trouble) {
  const Value table = Value::table({{"type", "bench/Saw"}, {"trouble", trouble}});
  return ConfigOf<Tool>(trivet::ConfigValue::from_value(table, "tool", "shop.saw"));
}

}  // namespace

TEST_CASE("an object is made from its config, with the context handed through") {
  bench();
  Shelf shelf{"top"};
  const ConfigOf<Tool> config("bench/Hammer", Value::table({{"weight", 1.5}}));
  const auto tool = trivet::make(config, shelf);
  CHECK(tool->use() == 1.5 + 8);  // with its spare saw
  CHECK(&dynamic_cast<const Hammer&>(*tool).shelf() == &shelf);
}

TEST_CASE("a config struct of the plugin becomes a ConfigOf with its key") {
  bench();
  Shelf shelf;
  const ConfigOf<Tool> config = saw(5);
  CHECK(config.key() == "bench/Saw");
  CHECK(trivet::make(config, shelf)->use() == 5);
  CHECK_THROWS_WITH(ConfigOf<Tool>(ToolConfig{}), Catch::Contains("registered no tool"));
}

TEST_CASE("a bare number selects the item that claims it") {
  bench();
  const auto config = trivet::decode<HammerConfig>(Value::table({{"weight", 1}, {"spare", 4}}));
  CHECK(config.spare == ConfigOf<Tool>("bench/Saw", Value::table({{"teeth", 4}})));
}

TEST_CASE("a config that does not fit the struct names path and plugin") {
  bench();
  const Value table = Value::table({{"type", "bench/Hammer"}, {"wieght", 1}});
  const ConfigOf<Tool> config(trivet::ConfigValue::from_value(table, "tool", "shop.tool"));
  Shelf shelf;
  try {
    trivet::make(config, shelf);
    FAIL("no error");
  } catch (const trivet::ConfigError& error) {
    CHECK(error.diagnostics().size() == 2);
    CHECK(error.plugin() == "bench");
    CHECK(error.key() == "bench/Hammer");
    CHECK_THAT(error.what(), Catch::Contains("shop.tool.wieght: unknown key 'wieght' (did you mean "
                                             "'weight'?)"));
  }
}

TEST_CASE("any exception of a constructor arrives with plugin, key and config path") {
  bench();
  CHECK(message_of(saw_with("config")) == "saw: blunt [plugin bench, bench/Saw]");
  CHECK(message_of(saw_with("input")) == "shop.saw: no wood [plugin bench, bench/Saw]");
  CHECK(message_of(saw_with("standard")) == "shop.saw: too long [plugin bench, bench/Saw]");
  CHECK(message_of(saw_with("own")) == "shop.saw: private trouble [plugin bench, bench/Saw]");
  CHECK_THAT(message_of(saw_with("int")),
             Catch::StartsWith("shop.saw: threw something that is not"));
}

TEST_CASE("errors of trivet keep their class, all else becomes a PluginError") {
  bench();
  Shelf shelf;
  CHECK_THROWS_AS(trivet::make(saw_with("config"), shelf), trivet::ConfigError);
  CHECK_THROWS_AS(trivet::make(saw_with("input"), shelf), trivet::InputError);
  CHECK_THROWS_AS(trivet::make(saw_with("own"), shelf), trivet::PluginError);
  CHECK_THROWS_AS(trivet::make(saw_with("int"), shelf), trivet::PluginError);
}

TEST_CASE("the innermost plugin and path are the ones reported") {
  bench();
  const Value table =
      Value::table({{"type", "bench/Hammer"},
                    {"weight", 1},
                    {"spare", Value::table({{"type", "bench/Saw"}, {"trouble", "own"}})}});
  const ConfigOf<Tool> config(trivet::ConfigValue::from_value(table, "tool", "shop.tool"));
  CHECK(message_of(config) == "shop.tool.spare: private trouble [plugin bench, bench/Saw]");
}

TEST_CASE("a missing key names the nearest ones") {
  bench();
  CHECK_THAT(message_of(ConfigOf<Tool>("bench/Hamer")),
             Catch::Contains("there is no tool 'bench/Hamer' (did you mean 'bench/Hammer'?)"));
  CHECK_THAT(message_of(ConfigOf<Tool>("Hammer")),
             Catch::Contains("a type is written plugin/Name"));
  CHECK_THAT(message_of(ConfigOf<Tool>()), Catch::Contains("its config is empty"));
}

TEST_CASE("a duplicate names both libraries and the first stays") {
  Registry registry;
  registry.add({.name = "one", .file = "/a/one.so"},
               {{.kind = "tool", .key = "x/Y", .doc = "first"}});
  CHECK_THROWS_WITH(registry.add({.name = "two", .file = "/b/two.so"},
                                 {{.kind = "tool", .key = "x/Z"}, {.kind = "tool", .key = "x/Y"}}),
                    Catch::Contains("/a/one.so") && Catch::Contains("/b/two.so"));
  CHECK(registry.find("tool", "x/Y")->doc == "first");
  CHECK(registry.find("tool", "x/Z") == nullptr);  // all or nothing
  CHECK_THROWS_AS(registry.add({.name = "three", .file = "c"},
                               {{.kind = "tool", .key = "q"}, {.kind = "tool", .key = "q"}}),
                  trivet::PluginError);
  CHECK_NOTHROW(registry.add({.name = "four", .file = "d"}, {{.kind = "knob", .key = "x/Y"}}));
}

TEST_CASE("an item whose config has no rules has no check") {
  CHECK(bench().get("tool", "bench/Saw").check == nullptr);
  RegistryItem ruler;
  tool<Ruler>("Ruler", "Measures.").fill(ruler);
  REQUIRE(ruler.check != nullptr);
  trivet::Diagnostics diagnostics;
  ruler.check(Value::table(), "a", diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "a.label");
}

TEST_CASE("the plugin of a key precedes the slash") {
  CHECK(trivet::plugin_of("nn/Linear") == "nn");
  CHECK(trivet::plugin_of("nn") == "nn");
  CHECK(trivet::plugin_of("").empty());
}

TEST_CASE("a loader is asked for what is not registered, once") {
  struct Lazy : trivet::PluginLoader {
    Registry* registry = nullptr;
    int loads = 0;
    void load(std::string_view, std::string_view key) override {
      ++loads;
      if (key == "bad/X") throw trivet::PluginError("the file is truncated", {.plugin = "bad"});
      if (key == "lazy/X") {
        registry->add({.name = "lazy", .file = "l"}, {{.kind = "tool", .key = "lazy/X"}});
      }
    }
    std::vector<std::string> keys(std::string_view) override { return {"lazy/X", "far/Thing"}; }
    std::vector<trivet::ScalarShorthand> for_number(std::string_view kind) override {
      if (kind == "both") return {{"a/A", "v"}, {"b/B", "v"}};
      return {};
    }
    std::string searched() override { return "searched /plugins"; }
  } loader;
  Registry registry;
  loader.registry = &registry;
  registry.set_loader(&loader);
  CHECK(registry.get("tool", "lazy/X").key == "lazy/X");
  CHECK(registry.get("tool", "lazy/X").key == "lazy/X");
  CHECK(loader.loads == 1);
  CHECK_THROWS_WITH(registry.get("tool", "bad/X", {.file = "c.toml", .line = 3}, "task"),
                    "c.toml:3: task: the file is truncated [plugin bad, bad/X]");
  CHECK_THROWS_WITH(registry.get("tool", "far/Thin"),
                    Catch::Contains("did you mean 'far/Thing'?; searched /plugins"));
  CHECK_THROWS_WITH(registry.for_number("both"), Catch::Contains("'a/A' or 'b/B'"));
  CHECK_FALSE(registry.for_number("tool").has_value());
}

TEST_CASE("experiments and tables are had by their keys") {
  bench();
  CHECK(bench().experiment("bench/small_saw").find("teeth")->as_float() == 3);
  CHECK(static_cast<const Table*>(bench().table("backend", "bench/Plain"))->answer == 42);
  CHECK_THROWS_WITH(bench().table("backend", "bench/Missing"),
                    Catch::Contains("gave no table") && Catch::Contains("plugin bench"));
}

TEST_CASE("the note in the library matches what the entry registers") {
  const auto& note = trivet_plugin_note_v1;
  CHECK(note.type == TRIVET_NOTE_TYPE);
  CHECK(std::string(note.owner) == TRIVET_NOTE_OWNER);
  const auto json = nlohmann::json::parse(std::string_view(note.text, note.text_size));
  CHECK(json.at("name") == "bench");
  CHECK(json.at("version") == "1.2.3");
  CHECK(json.at("doc") == "Tools \\ more.");
  CHECK(json.at("sdk")[0] == TRIVET_SDK_MAJOR);
  for (const trivet::AbiField& field : trivet::kAbiTag) {
    CHECK(json.at("abi").at(field.name) == field.value);
  }
  const auto items = items_of_entry();
  REQUIRE(json.at("items").size() == items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& told = json.at("items")[i];
    CHECK(told.at("kind") == items[i].kind);
    CHECK(told.at("key") == items[i].key);
    CHECK(told.at("doc") == items[i].doc);
    CHECK(told.value("scalar_shorthand", "") == items[i].scalar_shorthand);
    CHECK(told.contains("schema") == (items[i].schema != nullptr));
  }
}

TEST_CASE("the schema in the note is the schema of the struct") {
  const auto& note = trivet_plugin_note_v1;
  const auto json = nlohmann::json::parse(std::string_view(note.text, note.text_size));
  trivet::Schema from_note = trivet::schema_from_json(json.at("items")[0].at("schema").dump());
  // Compilers that cannot evaluate a default leave it out; the loaded plugin fills it in.
  trivet::complete_defaults(from_note, trivet::encode(HammerConfig{}));
  CHECK(from_note == trivet::schema_of<HammerConfig>());
  CHECK(from_note.find("weight")->doc == "Kilograms, \"heavy\" or\tnot.");
  CHECK(from_note.find("weight")->default_value == Value(2.5));
  CHECK(from_note.find("weight")->low_open);
}

TEST_CASE("defaults from a loaded plugin read like those of a note") {
  trivet::Schema schema = trivet::schema_from_json(
      R"({"name":"T","fields":[{"name":"bare","type":"config","kind":"tool"},)"
      R"({"name":"full","type":"config","kind":"tool"},)"
      R"({"name":"list","type":"list","element":{"type":"config","kind":"tool"}}]})");
  const Value bare = Value::table({{"type", "bench/Hammer"}});
  const Value full = Value::table({{"type", "bench/Hammer"}, {"weight", 1.5}});
  trivet::complete_defaults(
      schema, Value::table({{"bare", bare}, {"full", full}, {"list", Value::array({bare, full})}}));
  CHECK_FALSE(schema.find("bare")->adjustable);  // as in notes older than the word
  CHECK(schema.find("bare")->default_value == Value("bench/Hammer"));
  CHECK(schema.find("full")->default_value == full);
  CHECK(schema.find("list")->default_value == Value::array({"bench/Hammer", full}));
}

TEST_CASE("an invalid schema text is refused") {
  for (const char* text :
       {"", "{", "[]", "{\"name\":1,\"fields\":[]}", "{\"name\":\"x\",\"fields\":{}}",
        "{\"name\":\"x\",\"fields\":[{\"name\":\"a\"}]}",
        "{\"name\":\"x\",\"fields\":[{\"name\":\"a\",\"type\":\"what\"}]}",
        "{\"name\":\"x\",\"fields\":[{\"name\":\"a\",\"type\":\"list\"}]}",
        "{\"name\":\"x\",\"fields\":[{\"name\":\"a\",\"type\":\"float\",\"low\":\"12\"}]}",
        "{\"name\":\"x\",\"fields\":[{\"name\":\"a\",\"type\":\"integer\",\"default\":\"x\"}]}",
        "{\"name\":\"x\",\"fields\":[{\"name\":\"a\",\"type\":\"integer\",\"adjustable\":1}]}",
        "{\"name\":\"x\",\"fields\":[{\"name\":\"a\",\"type\":\"text\",\"names_metric\":1}]}"}) {
    INFO(text);
    CHECK_THROWS_AS(trivet::schema_from_json(text), trivet::Error);
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "{\"type\":\"list\",\"element\":";
  deep += "{\"type\":\"text\"}" + std::string(100, '}');
  CHECK_THROWS_AS(trivet::schema_from_json("{\"name\":\"x\",\"fields\":[{\"name\":\"a\"," +
                                           deep.substr(1) + "]}"),
                  trivet::Error);
}

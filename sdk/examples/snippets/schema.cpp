// SPDX-License-Identifier: Apache-2.0
// What trivet/config/schema.h shows: a table is checked by its schema, and by rules of its struct.
#include <cstdint>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include <trivet/config.h>
#include <trivet/error.h>
#include <trivet/trainer.h>

namespace schema_example {

using namespace trivet;

namespace {

// Knows no plugin.
class NoPlugins final : public SchemaLookup {
 public:
  const Schema* find(std::string_view, std::string_view key, const Origin& where,
                     const std::string& path, Diagnostics& diagnostics) override {
    diagnostics.add({.where = where, .path = path, .what = "no plugin has " + std::string(key)});
    return nullptr;
  }
  std::optional<ScalarShorthand> for_number(std::string_view) override { return std::nullopt; }
};

void check(const Value& value) {
  NoPlugins lookup;
  // [validate]
  Diagnostics problems;
  validate(value, schema_of<TrainerConfig>(), &lookup, problems, {.path = "trainer"});
  problems.throw_if_any();  // one ConfigError with all of them
  // [/validate]
}

}  // namespace

TEST_CASE("example: a table is checked by its schema and the plugins that it names") {
  CHECK_NOTHROW(check(Value::table({{"train_steps", 3}})));
  const Value wrong = Value::table({{"train_stepz", 3}, {"optimizer", "optim/Nothing"}});
  CHECK_THROWS_WITH(check(wrong), Catch::Contains("trainer.train_stepz") &&
                                      Catch::Contains("no plugin has optim/Nothing"));
}

struct AttentionConfig {
  std::int64_t dims = 0;
  std::int64_t heads = 1;

  // [rule]
  void validate(trivet::Diagnostics& problems) const {
    if (heads > 0 && dims % heads != 0) problems.add("dims", "must be a multiple of heads");
  }
  // [/rule]
};
TRIVET_CONFIG(AttentionConfig, trivet::NoBase, (dims, "Depth."), (heads, "Number of heads."))

TEST_CASE("example: a rule of a config struct names its field") {
  CHECK_NOTHROW(decode<AttentionConfig>(Value::table({{"dims", 8}, {"heads", 2}})));
  CHECK_THROWS_WITH(decode<AttentionConfig>(Value::table({{"dims", 8}, {"heads", 3}}), "a.b"),
                    Catch::StartsWith("a.b.dims: must be a multiple of heads"));
}

}  // namespace schema_example

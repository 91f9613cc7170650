// SPDX-License-Identifier: Apache-2.0
// The table of quantities: what messages, schemas and overrides read of each field type with a
// unit. A new quantity has its cases here; bytes and intervals have files of their own, too.
#include "trivet/config/quantity.h"

#include <catch2/catch.hpp>

#include "trivet/config.h"
#include "trivet/config/field_types.h"
#include "trivet/error.h"

namespace quantity_test {

using namespace trivet;

namespace {

struct Case {
  const char* name;
  Value number;      // as a note has its default
  const char* text;  // of the same amount
  double amount;
  Value as_written;  // the number as files write it
};

std::vector<Case> cases() {
  return {{"duration", 5400.0, "1h30m", 5400, 5400.0},
          {"interval", 600.0, "10m", 600, "10m"},
          {"bytes", std::int64_t{500'000'000}, "500MB", 500e6, "500MB"},
          {"range", 8, "2..8", 8, 8}};
}

struct WaitConfig {
  Duration wait = 1;
};
TRIVET_CONFIG(WaitConfig, trivet::NoBase, (wait, "How long.", at_least(1)))

}  // namespace

TEST_CASE("every quantity reads a number and a text, and writes its defaults as files do") {
  for (const Case& c : cases()) {
    INFO(c.name);
    const Quantity* quantity = find_quantity(c.name);
    REQUIRE(quantity != nullptr);
    CHECK(quantity->name == c.name);
    CHECK_FALSE(quantity->expected.empty());
    CHECK(quantity->amount(Value(c.text)) == c.amount);
    CHECK(quantity->amount(Value("7 parrots")) == std::nullopt);
    CHECK(quantity->amount(Value(true)) == std::nullopt);
    CHECK(quantity->as_written(c.number) == c.as_written);
    FieldType type;
    type.form = FieldType::Form::quantity;
    type.quantity = c.name;
    CHECK(&quantity_of(type) == quantity);
    CHECK(to_string(type) == c.name);
  }
  CHECK(find_quantity("parrots") == nullptr);
}

TEST_CASE("a field of a quantity is checked by the quantity's name") {
  const Field* wait = schema_of<WaitConfig>().find("wait");
  REQUIRE(wait != nullptr);
  CHECK(wait->type.form == FieldType::Form::quantity);
  CHECK(wait->type.quantity == "duration");
  CHECK(decode<WaitConfig>(Value::table({{"wait", "90s"}})).wait == Duration(90));
  CHECK_THROWS_WITH(decode<WaitConfig>(Value::table({{"wait", "soon"}})),
                    Catch::Contains("wait") && Catch::Contains("a duration such as"));
  CHECK_THROWS_WITH(decode<WaitConfig>(Value::table({{"wait", "500ms"}})),
                    Catch::Contains("must be >= 1"));
  FieldType unknown;
  unknown.form = FieldType::Form::quantity;
  unknown.quantity = "parrots";
  CHECK_THROWS_WITH(quantity_of(unknown), Catch::Contains("there is no quantity 'parrots'"));
}

}  // namespace quantity_test

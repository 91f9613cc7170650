// SPDX-License-Identifier: Apache-2.0
// Every type a config field may have: to and from values, comparison, schema.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

#include "config_types.h"

using namespace config_test;
using trivet::decode;
using trivet::encode;
using trivet::equal;
using trivet::FieldType;
using trivet::Value;

TEST_CASE("the type of a field that holds a config has the right article") {
  FieldType type;
  type.form = FieldType::Form::config;
  for (const auto& [kind, text] :
       {std::pair{"input", "config of an input"}, std::pair{"layer", "config of a layer"}}) {
    type.kind = kind;
    CHECK(to_string(type) == text);
  }
}

TEST_CASE("a value for every field type arrives in its member") {
  const auto config = decode<Everything>(everything_value());
  CHECK(config.name == "n");
  CHECK_FALSE(config.flag);
  CHECK(config.small == -128);
  CHECK(config.port == 65535);
  CHECK(config.big == 9007199254740993);  // 2^53 + 1: would not survive a double
  CHECK(config.bytes == 7);
  CHECK(config.single == 0.25f);
  CHECK(config.real == 1e-300);
  CHECK(config.text == "t");
  CHECK(config.mode == "exact");
  CHECK(config.color == Color::default_);
  CHECK(config.file.text == "a/b.txt");
  CHECK(config.wait.seconds == 5400);
  CHECK(config.point.x == -1);
  CHECK(config.point.tags == std::vector<std::int64_t>{1, 2});
  CHECK(config.words == std::vector<std::string>{"x"});
  REQUIRE(config.points.size() == 2);
  CHECK(config.points[0].x == 0.25);
  CHECK(config.points[1].x == 0.5);
  CHECK(config.grid == std::vector<std::vector<int>>{{1, 2}, {}});
  CHECK(config.weights == trivet::Map<double>{{"a", 1}, {"b", 2}});
  CHECK(config.weights.begin()->first == "b");  // the order of the file
  CHECK(config.locations.at("home").x == 0.0);
  CHECK(config.limit == 3);
  CHECK_FALSE(config.rate.has_value());
  CHECK(config.center->x == 1);
  CHECK(config.note == "none");  // for a string field, "none" is a string
  CHECK_FALSE(config.gadget.has_value());
  CHECK(config.nothing.key() == "shop/Hammer");
  CHECK(config.nothing.fields() == Value::table({{"weight", 2}}));
  CHECK(config.nothing.path() == "nothing");
  CHECK(config.gadgets[0].key() == "shop/Saw");
  CHECK(config.gadgets[1].path() == "gadgets[1]");
  CHECK(config.named.at("first").fields().find("weight")->as_integer() == 2);
  CHECK(config.free.find_path("a[1]")->as_string() == "b");
  CHECK(config.long_ == 5);  // a C++ keyword: "long" in files
}

TEST_CASE("fields that a value leaves out keep their defaults") {
  const auto config = decode<Everything>(Value::table({{"big", 2}}));
  Everything expected;
  expected.big = 2;
  CHECK(equal(config, expected));
  CHECK(config.point.x == 0.75);  // the outer struct's default, not Point's
  CHECK(config.gadget.key() == "shop/Hammer");
  CHECK(config.rate == 0.5);
}

TEST_CASE("a nested table changes only the fields that it names") {
  const auto config = decode<Everything>(
      Value::table({{"big", 1}, {"point", Value::table({{"tags", Value::array({4})}})}}));
  CHECK(config.point.x == 0.75);
  CHECK(config.point.tags == std::vector<std::int64_t>{4});
}

TEST_CASE("an encoded config decodes to an equal one") {
  Everything config = decode<Everything>(everything_value());
  CHECK(equal(decode<Everything>(encode(config)), config));
  CHECK(encode(decode<Everything>(encode(config))) == encode(config));
  Everything defaults;
  CHECK(equal(decode<Everything>(encode(defaults)), defaults));
  CHECK(encode(defaults).find("rate")->as_float() == 0.5);
}

TEST_CASE("an empty value whose default is not empty is written as none") {
  Everything config;
  config.gadget = {};
  config.rate = {};
  const Value value = encode(config);
  CHECK(value.find("gadget")->as_string() == "none");
  CHECK(value.find("rate")->as_string() == "none");
  CHECK(value.find("nothing")->is_null());
  CHECK(value.find("limit")->is_null());
}

TEST_CASE("configs differ as soon as one field differs") {
  const Everything config = decode<Everything>(everything_value());
  const Value all = everything_value();
  for (const Value::Member& member : all.members()) {
    if (member.key == "big") continue;  // required, so it cannot be left out
    Value other = everything_value();
    other.erase(member.key);
    INFO(member.key);
    // The default decides between "none" and null: these two differ in every other case.
    CHECK_FALSE(equal(decode<Everything>(other), config));
  }
  CHECK(equal(config, Everything(config)));
}

TEST_CASE("NaN equals NaN in configs and values") {
  Point a, b;
  a.x = b.x = std::numeric_limits<double>::quiet_NaN();
  CHECK(equal(a, b));
  CHECK(encode(a) == encode(b));
  b.x = 0;
  CHECK_FALSE(equal(a, b));
}

TEST_CASE("an old name of a field is understood and written back under the new one") {
  const auto config =
      decode<Everything>(Value::table({{"big", 1}, {"old_words", Value::array({"w"})}}));
  CHECK(config.words == std::vector<std::string>{"w"});
  CHECK(encode(config).find("old_words") == nullptr);
}

TEST_CASE("the schema describes all fields") {
  const trivet::Schema& schema = trivet::schema_of<Everything>();
  using Form = FieldType::Form;
  CHECK(schema.name == "Everything");
  REQUIRE(schema.fields.size() == 29);
  CHECK(schema.fields[0].name == "name");  // fields of the base struct come first
  const auto form = [&](const char* name) { return schema.find(name)->type.form; };
  CHECK(form("flag") == Form::boolean);
  CHECK(form("single") == Form::floating);
  CHECK(schema.find("single")->type.single);
  CHECK(form("color") == Form::choice);
  CHECK(schema.find("color")->type.choices == std::vector<std::string>{"red", "green", "default"});
  CHECK(schema.find("mode")->type.choices == std::vector<std::string>{"fast", "exact"});
  CHECK(form("file") == Form::path);
  CHECK(form("wait") == Form::quantity);
  CHECK(form("point") == Form::table);
  CHECK(schema.find("point")->type.fields[0].default_value == Value(0.75));
  CHECK(form("points") == Form::list);
  CHECK(schema.find("points")->type.element[0].fields[0].default_value == Value(0.5));
  CHECK(form("locations") == Form::map);
  CHECK(form("gadget") == Form::config);
  CHECK(schema.find("gadget")->type.kind == "gadget");
  CHECK(schema.find("gadgets")->type.element[0].kind == "gadget");
  CHECK(form("free") == Form::value);
  CHECK(schema.find("limit")->type.optional);
  CHECK(schema.find("small")->type.lowest == -128);
  CHECK(schema.find("port")->type.highest == 65535);
  CHECK(schema.find("bytes")->type.lowest == 0);
  CHECK(schema.find("big")->required);
  CHECK(schema.find("real")->adjustable);
  CHECK_FALSE(schema.find("single")->adjustable);
  CHECK(schema.find("text")->names_metric);
  CHECK_FALSE(schema.find("mode")->names_metric);
  CHECK(schema.find("old_words")->name == "words");
  CHECK(schema.find("long")->default_value == Value(4));
  CHECK(schema.find("long_") == nullptr);
  CHECK(schema.find("flag")->doc == "A boolean.");
  CHECK(trivet::range_text(*schema.find("single")) == "in (0, 2)");
  CHECK(trivet::range_text(*schema.find("real")) == "<= 10");
  CHECK(trivet::range_text(*schema.find("big")) == ">= 1");
  CHECK(trivet::range_text(*schema.find("flag")).empty());
}

TEST_CASE("the schema's defaults equal the struct's, to the last bit") {
  const trivet::Schema& schema = trivet::schema_of<Everything>();
  const Value defaults = encode(Everything{});
  for (const trivet::Field& field : schema.fields) {
    if (field.type.form == FieldType::Form::table) continue;  // its fields have their own
    INFO(field.name);
    REQUIRE(field.default_value.has_value());
    if (field.type.form == FieldType::Form::config && field.default_value->is_string()) {
      CHECK(field.default_value->as_string() ==
            defaults.find(field.name)->find("type")->as_string());
    } else {
      CHECK(*field.default_value == *defaults.find(field.name));
    }
  }
  CHECK(std::signbit(schema.find("real")->default_value->as_float()) == false);
  CHECK(schema.find("real")->default_value->as_float() == 0.1);
}

TEST_CASE("filling in defaults equals encoding the struct") {
  Value value = Value::table({{"big", 1}});
  trivet::fill_defaults(value, trivet::schema_of<Everything>(), nullptr);
  CHECK(equal(decode<Everything>(value), decode<Everything>(Value::table({{"big", 1}}))));
  CHECK(value.find_path("point.x")->as_float() == 0.75);
  CHECK(value.find_path("gadget.type")->as_string() == "shop/Hammer");
  Value old = Value::table({{"big", 1}, {"old_words", Value::array({"w"})}});
  trivet::fill_defaults(old, trivet::schema_of<Everything>(), nullptr);
  CHECK(old.find("old_words") == nullptr);
  CHECK(old.find_path("words[0]")->as_string() == "w");
}

TEST_CASE("structs without fields are configs, too") {
  CHECK(trivet::schema_of<Empty>().fields.empty());
  CHECK(equal(decode<Empty>(Value()), Empty{}));
  CHECK(trivet::schema_of<OnlyInherited>().fields.size() == 1);
  CHECK(decode<OnlyInherited>(Value::table({{"name", "x"}})).name == "x");
}

namespace config_test {
struct Hundred {
#define TEN(d)                                                                                   \
  int a##d##0 = 0, a##d##1 = 1, a##d##2 = 2, a##d##3 = 3, a##d##4 = 4, a##d##5 = 5, a##d##6 = 6, \
      a##d##7 = 7, a##d##8 = 8, a##d##9 = d * 10 + 9;
  TEN(0) TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10)
#undef TEN
};
TRIVET_CONFIG(Hundred, trivet::NoBase, (a00, ""), (a01, ""), (a02, ""), (a03, ""), (a04, ""),
              (a05, ""), (a06, ""), (a07, ""), (a08, ""), (a09, ""), (a10, ""), (a11, ""),
              (a12, ""), (a13, ""), (a14, ""), (a15, ""), (a16, ""), (a17, ""), (a18, ""),
              (a19, ""), (a20, ""), (a21, ""), (a22, ""), (a23, ""), (a24, ""), (a25, ""),
              (a26, ""), (a27, ""), (a28, ""), (a29, ""), (a30, ""), (a31, ""), (a32, ""),
              (a33, ""), (a34, ""), (a35, ""), (a36, ""), (a37, ""), (a38, ""), (a39, ""),
              (a40, ""), (a41, ""), (a42, ""), (a43, ""), (a44, ""), (a45, ""), (a46, ""),
              (a47, ""), (a48, ""), (a49, ""), (a50, ""), (a51, ""), (a52, ""), (a53, ""),
              (a54, ""), (a55, ""), (a56, ""), (a57, ""), (a58, ""), (a59, ""), (a60, ""),
              (a61, ""), (a62, ""), (a63, ""), (a64, ""), (a65, ""), (a66, ""), (a67, ""),
              (a68, ""), (a69, ""), (a70, ""), (a71, ""), (a72, ""), (a73, ""), (a74, ""),
              (a75, ""), (a76, ""), (a77, ""), (a78, ""), (a79, ""), (a80, ""), (a81, ""),
              (a82, ""), (a83, ""), (a84, ""), (a85, ""), (a86, ""), (a87, ""), (a88, ""),
              (a89, ""), (a90, ""), (a91, ""), (a92, ""), (a93, ""), (a94, ""), (a95, ""),
              (a96, ""), (a97, ""), (a98, ""), (a99, ""), (a100, ""), (a101, ""), (a102, ""),
              (a103, ""), (a104, ""), (a105, ""), (a106, ""), (a107, ""), (a108, ""),
              (a109, "The last of 110.", at_least(0)))
}  // namespace config_test

TEST_CASE("a config may have more than a hundred fields") {
  CHECK(trivet::schema_of<Hundred>().fields.size() == 110);
  CHECK(trivet::schema_of<Hundred>().find("a109")->default_value == Value(109));
  CHECK(decode<Hundred>(Value::table({{"a109", 7}})).a109 == 7);
}

namespace {

// No compiler can evaluate this default, so no note holds the defaults of Machine.
std::int64_t count_cores() {
  static const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  return cores;
}

struct Machine {
  std::int64_t cores = count_cores();
  std::string name = "any";
};
TRIVET_CONFIG(Machine, trivet::NoBase, (cores, "How many."), (name, "Which."))

struct Rack {
  std::vector<Machine> machines{};
};
TRIVET_CONFIG(Rack, trivet::NoBase, (machines, "From the top."))

struct Hall {
  Machine front{.cores = 3};
  Rack rack{};
  trivet::Map<std::vector<Machine>> rows{};
  std::optional<Machine> spare{};
};
TRIVET_CONFIG(Hall, trivet::NoBase, (front, "The first."), (rack, "Of many."), (rows, "By name."),
              (spare, "Maybe one."))

}  // namespace

TEST_CASE("defaults that a note cannot hold are known of structs in lists, maps and optionals") {
  const trivet::Schema& hall = trivet::schema_of<Hall>();
  const auto cores = [](const std::vector<trivet::Field>& fields) {
    return fields[0].default_value;
  };
  const Value own = count_cores();
  CHECK(cores(hall.find("front")->type.fields) == Value(3));
  CHECK(cores(hall.find("rack")->type.fields[0].type.element[0].fields) == own);
  CHECK(cores(hall.find("rows")->type.element[0].element[0].fields) == own);
  CHECK(cores(hall.find("spare")->type.fields) == own);

  Value given = Value::table(
      {{"rack", Value::table({{"machines", Value::array({Value::table({{"name", "a"}})})}})}});
  trivet::fill_defaults(given, hall, nullptr);
  CHECK(given.find_path("rack.machines[0].cores")->as_integer() == count_cores());
}

namespace {

struct WithRules {
  std::optional<trivet::Map<std::vector<Block>>> deep{};
};
TRIVET_CONFIG(WithRules, trivet::NoBase, (deep, "Rules far below."))

struct InheritsRules : Attention {};
TRIVET_CONFIG(InheritsRules, Attention)

}  // namespace

TEST_CASE("a struct has rules when it or a struct in it has a validate") {
  using trivet::detail::has_rules;
  STATIC_REQUIRE(has_rules<Attention>());
  STATIC_REQUIRE(has_rules<Block>());
  STATIC_REQUIRE(has_rules<WithRules>());
  STATIC_REQUIRE(has_rules<InheritsRules>());
  STATIC_REQUIRE_FALSE(has_rules<Everything>());
  STATIC_REQUIRE_FALSE(has_rules<Empty>());
}

TEST_CASE("a config is decoded with what its rules say beside it") {
  trivet::Diagnostics diagnostics;
  const auto good = trivet::try_decode<Attention>(Value::table({{"dims", 6}}), "a", diagnostics);
  REQUIRE(good.has_value());
  CHECK(good->dims == 6);
  CHECK(diagnostics.empty());
  CHECK(trivet::try_decode<Attention>(Value::table({{"dims", 5}}), "a", diagnostics).has_value());
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "a.dims");
  // validate() reports values that the schema refuses.
  CHECK_FALSE(
      trivet::try_decode<Attention>(Value::table({{"heads", 0}}), "a", diagnostics).has_value());
  CHECK(diagnostics.list().size() == 1);
}

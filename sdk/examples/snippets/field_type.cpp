// SPDX-License-Identifier: Apache-2.0
// What trivet/config/detail/field_traits.h shows: a config field of a type that trivet does not
// know.
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include <trivet/config.h>

namespace acme {

struct Label {
  std::string text{};

  friend bool operator==(const Label&, const Label&) = default;
};

}  // namespace acme

namespace trivet::detail {

// [traits]
template <>
struct FieldTraits<acme::Label> {
  static constexpr std::string_view kForm = "string";  // the name of its FieldType::Form
  static constexpr bool kHasBounds = false;            // takes at_least and so on
  // Writes a default into the schema of a note.
  template <class Sink>
  static constexpr void write_json(Sink& out, const acme::Label& value) {
    json_text(out, value.text);
  }
  // validate() has seen that the value has the form.
  static acme::Label read(const Value& value) { return {value.as_string()}; }
  static Value write(const acme::Label& value) { return value.text; }
};
// [/traits]

}  // namespace trivet::detail

namespace field_type_example {

struct CardConfig {
  acme::Label title{"untitled"};
};
TRIVET_CONFIG(CardConfig, trivet::NoBase, (title, "The content of the sign."))

TEST_CASE("example: a type with traits is a field") {
  using trivet::Value;
  const auto card = trivet::decode<CardConfig>(Value::table({{"title", "a"}}));
  CHECK(card.title == acme::Label{"a"});
  CHECK(trivet::encode(card) == Value::table({{"title", "a"}}));
  CHECK(*trivet::schema_of<CardConfig>().find("title")->default_value == Value("untitled"));
  CHECK_THROWS_WITH(trivet::decode<CardConfig>(Value::table({{"title", 3}})),
                    Catch::Contains("title"));
}

}  // namespace field_type_example

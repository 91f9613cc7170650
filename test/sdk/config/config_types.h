// SPDX-License-Identifier: Apache-2.0
// Config structs for the config tests: one has every type of field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trivet/config.h"

namespace config_test {

// Represents any base class; its kind has no items.
struct Gadget {
  static constexpr std::string_view kKind = "gadget";
};

enum class Color { red, green, default_ };
TRIVET_ENUM(Color, red, green, default_)

struct Common {
  std::string name = "common";
};
TRIVET_CONFIG(Common, trivet::NoBase, (name, "A name."))

struct Point {
  double x = 0.5;
  std::vector<std::int64_t> tags{};
};
TRIVET_CONFIG(Point, trivet::NoBase, (x, "Abscissa.", between(-1, 1)),
              (tags, "Marks.", at_least(0)))

struct Everything : Common {
  bool flag = true;
  std::int8_t small = -3;
  std::uint16_t port = 8080;
  std::int64_t big = 1;
  std::uint64_t bytes = 0;
  float single = 1.5f;
  double real = 0.1;
  std::string text = "a \"quoted\" \\ line\n";
  std::string mode = "fast";
  Color color = Color::green;
  trivet::Path file{};
  trivet::Duration wait = 90;
  Point point{.x = 0.75};
  std::vector<std::string> words = {"a", "b"};
  std::vector<Point> points{};
  std::vector<std::vector<int>> grid{};
  trivet::Map<double> weights{};
  trivet::Map<Point> locations{};
  std::optional<int> limit{};
  std::optional<double> rate = 0.5;
  std::optional<Point> center{};
  std::optional<std::string> note{};
  trivet::ConfigOf<Gadget> gadget = "shop/Hammer";
  trivet::ConfigOf<Gadget> nothing{};
  std::vector<trivet::ConfigOf<Gadget>> gadgets{};
  trivet::Map<trivet::ConfigOf<Gadget>> named{};
  trivet::Value free{};
  int long_ = 4;
};
TRIVET_CONFIG(Everything, Common, (flag, "A boolean."), (small, "8 bits."), (port, "16 bits."),
              (big, "64 bits.", required, at_least(1)), (bytes, "Not negative."),
              (single, "32 bits.", more_than(0), less_than(2)),
              (real, "64 bits.", at_most(10), adjustable), (text, "Any text.", names_metric),
              (mode, "One of two.", choices("fast", "exact")), (color, "An enum."),
              (file, "A file."), (wait, "A time.", at_least(1)), (point, "A struct."),
              (words, "Texts.", alias("old_words")), (points, "Structs."),
              (grid, "Lists of lists.", at_most(9)), (weights, "Numbers by name.", at_least(0)),
              (locations, "Structs by name."), (limit, "Maybe a number."),
              (rate, "Maybe, by default."), (center, "Maybe a struct."), (note, "Maybe a text."),
              (gadget, "A template."), (nothing, "Empty."), (gadgets, "Templates."),
              (named, "Templates by name."), (free, "Anything."), (long_, "A C++ word."))

struct Empty {};
TRIVET_CONFIG(Empty, trivet::NoBase)

struct OnlyInherited : Common {};
TRIVET_CONFIG(OnlyInherited, Common)

// dims must be a multiple of heads.
struct Attention {
  std::int64_t dims = 8;
  std::int64_t heads = 2;
  void validate(trivet::Diagnostics& diagnostics) const {
    if (heads > 0 && dims % heads != 0) diagnostics.add("dims", "must be a multiple of heads");
  }
};
TRIVET_CONFIG(Attention, trivet::NoBase, (dims, "Width."), (heads, "Heads.", at_least(1)))

struct Block {
  Attention attention{};
  std::vector<Attention> more{};
};
TRIVET_CONFIG(Block, trivet::NoBase, (attention, "First."), (more, "Others."))

// A value for every field of Everything, none of them the default.
inline trivet::Value everything_value() {
  using trivet::Value;
  const Value hammer = Value::table({{"type", "shop/Hammer"}, {"weight", 2}});
  return Value::table({
      {"name", "n"},
      {"flag", false},
      {"small", -128},
      {"port", 65535},
      {"big", 9007199254740993},
      {"bytes", 7},
      {"single", 0.25},
      {"real", 1e-300},
      {"text", "t"},
      {"mode", "exact"},
      {"color", "default"},
      {"file", "a/b.txt"},
      {"wait", "1h30m"},
      {"point", Value::table({{"x", -1}, {"tags", Value::array({1, 2})}})},
      {"words", Value::array({"x"})},
      {"points", Value::array({Value::table({{"x", 0.25}}), Value::table()})},
      {"grid", Value::array({Value::array({1, 2}), Value::array()})},
      {"weights", Value::table({{"b", 2.0}, {"a", 1}})},
      {"locations", Value::table({{"home", Value::table({{"x", 0.0}})}})},
      {"limit", 3},
      {"rate", "none"},
      {"center", Value::table({{"x", 1}})},
      {"note", "none"},
      {"gadget", "none"},
      {"nothing", hammer},
      {"gadgets", Value::array({"shop/Saw", hammer})},
      {"named", Value::table({{"first", hammer}})},
      {"free", Value::table({{"a", Value::array({1, "b", false})}})},
      {"long", 5},
  });
}

}  // namespace config_test

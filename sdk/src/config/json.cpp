// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/json.h"

#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "trivet/error.h"

namespace trivet {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kMaxDepth = 100;
constexpr const char* kSpecialNumberKey = "$number";

std::string json_quoted(const std::string& text) {
  return OrderedJson(text).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// Writes by hand: the library spells some numbers longer than they need to be.
class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style) : style_(style) {}

  std::string take() { return std::move(text_); }

  void add(const Value& value) {
    switch (value.type()) {
      case Value::Type::null:
        text_ += "null";
        return;
      case Value::Type::boolean:
        text_ += value.as_boolean() ? "true" : "false";
        return;
      case Value::Type::integer:
        text_ += std::to_string(value.as_integer());
        return;
      case Value::Type::floating:
        add_float(value.as_float());
        return;
      case Value::Type::string:
        text_ += json_quoted(value.as_string());
        return;
      case Value::Type::array:
        add_all('[', value.items(), ']', [this](const Value& item) { add(item); });
        return;
      case Value::Type::table:
        add_all('{', value.members(), '}', [this](const Value::Member& member) {
          text_ += json_quoted(member.key);
          text_ += style_ == JsonStyle::line ? ":" : ": ";
          add(member.value);
        });
        return;
    }
  }

 private:
  void add_float(double number) {
    const std::string text = float_text(number);
    if (std::isfinite(number)) {
      text_ += text;
    } else {
      add(Value::table({{kSpecialNumberKey, text}}));
    }
  }

  template <class List, class Add>
  void add_all(char open, const List& list, char close, const Add& add_one) {
    text_ += open;
    ++depth_;
    const char* between = "";
    for (const auto& each : list) {
      text_ += between;
      between = style_ == JsonStyle::spaced ? ", " : ",";
      begin_line();
      add_one(each);
    }
    --depth_;
    if (!list.empty()) begin_line();
    text_ += close;
  }

  void begin_line() {
    if (style_ == JsonStyle::indented) text_.append(1, '\n').append(2 * depth_, ' ');
  }

  JsonStyle style_;
  std::size_t depth_ = 0;
  std::string text_;
};

Value special_number(const std::string& text, const std::string& source) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
  if (text == "inf") return Value(kInfinity);
  if (text == "-inf") return Value(-kInfinity);
  throw RunError(fmt::format("{}: \"{}\" is no number", source, text));
}

// Makes the value as the text is read. A table of its own, as the library would make first, drops
// all but one of several members of a name.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const std::string& source) : source_(source) {}

  Value take() { return std::move(done_); }

  bool null() override { return put(Value()); }
  bool boolean(bool value) override { return put(Value(value)); }
  bool number_integer(number_integer_t value) override { return put(Value(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(Value(value)); }
  bool number_float(number_float_t value, const string_t&) override { return put(Value(value)); }
  bool string(string_t& value) override { return put(Value(std::move(value))); }
  bool binary(binary_t&) override { throw RunError(source_ + ": binary data is no JSON"); }
  bool start_object(std::size_t) override { return open(Value::table()); }
  bool start_array(std::size_t) override { return open(Value::array()); }
  bool end_array() override { return put(close()); }

  bool end_object() override {
    Value table = close();
    const auto& members = std::as_const(table).members();
    const bool special =
        members.size() == 1 && members[0].key == kSpecialNumberKey && members[0].value.is_string();
    return put(special ? special_number(members[0].value.as_string(), source_) : std::move(table));
  }

  bool key(string_t& name) override {
    if (!open_.back().names.insert(name).second) {
      throw RunError(fmt::format("{}: {} is there twice", source_, json_quoted(name)));
    }
    open_.back().key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& failure) override {
    throw RunError(fmt::format("{} is not JSON: {}", source_, failure.what()));
  }

 private:
  struct Open {
    Value value;
    std::string key{};  // of the member to come
    std::unordered_set<std::string> names{};
  };

  bool open(Value empty) {
    if (std::cmp_greater(open_.size(), kMaxDepth)) throw RunError(source_ + ": nested too deep");
    open_.push_back({std::move(empty)});
    return true;
  }

  Value close() {
    Value value = std::move(open_.back().value);
    open_.pop_back();
    return value;
  }

  bool put(Value value) {
    if (open_.empty()) {
      done_ = std::move(value);
    } else if (Open& around = open_.back(); around.value.is_array()) {
      around.value.push_back(std::move(value));
    } else {
      around.value.members().push_back({std::move(around.key), std::move(value), {}});
    }
    return true;
  }

  const std::string& source_;
  std::vector<Open> open_;
  Value done_;
};

}  // namespace

std::string to_json(const Value& value, JsonStyle style) {
  JsonWriter writer(style);
  writer.add(value);
  std::string text = writer.take();
  if (style == JsonStyle::indented) text += '\n';
  return text;
}

Value value_from_json(std::string_view text, const std::string& source) {
  // The library takes a zero byte for the end of the text, whatever follows it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw RunError(fmt::format("{} is not JSON: byte {} is zero", source, zero + 1));
  }
  Builder builder(source);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "dimension.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "trivet/error.h"

namespace trivet::sweeps {
namespace {

constexpr std::int64_t kMost = 1'000'000;

[[noreturn]] void fail(const Value& value, const std::string& name, std::string what,
                       std::string hint = {}) {
  throw ConfigError(Diagnostic{value.origin(), name, std::move(what), std::move(hint)});
}

// Rounds to 12 digits, where sums and powers of decimal numbers look as people write them.
double round_decimal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", value);
  return std::strtod(text, nullptr);
}

void check_numbers(const Value& list, const std::string& name, std::string_view function,
                   std::size_t fewest, std::size_t most) {
  const bool is_list =
      list.is_array() && list.items().size() >= fewest && list.items().size() <= most;
  bool good = is_list;
  if (is_list) {
    for (const Value& item : list.items()) {
      good = good && (item.is_integer() || (item.is_float() && std::isfinite(item.as_float())));
    }
  }
  if (good) return;
  const std::string form =
      function == "range" ? "[stop], [start, stop] or [start, stop, step]" : "[first, last, count]";
  fail(list, name, std::string(function) + " takes numbers, " + form);
}

Value::Array parse_range(const Value& list, const std::string& name) {
  check_numbers(list, name, "range", 1, 3);
  Value::Array given = list.items();
  if (given.size() == 1) given.insert(given.begin(), Value(0));
  const Value step = given.size() == 3 ? given[2] : Value(1);
  if (step.as_float() == 0) fail(list, name, "the step of a range must not be 0");
  const double count =
      std::ceil(round_decimal((given[1].as_float() - given[0].as_float()) / step.as_float()));
  if (count > static_cast<double>(kMost)) fail(list, name, "a range of more than 1,000,000 values");
  const bool whole = given[0].is_integer() && given[1].is_integer() && step.is_integer();
  Value::Array values;
  for (std::int64_t i = 0; static_cast<double>(i) < count; ++i) {
    if (whole) {
      values.emplace_back(given[0].as_integer() + i * step.as_integer());
    } else {
      values.emplace_back(
          round_decimal(given[0].as_float() + static_cast<double>(i) * step.as_float()));
    }
  }
  return values;
}

enum class Scale { linear, logarithmic };

Value::Array spaced(const Value& list, const std::string& name, Scale scale) {
  const bool logarithmic = scale == Scale::logarithmic;
  const char* function = logarithmic ? "logspace" : "linspace";
  check_numbers(list, name, function, 3, 3);
  const Value::Array& given = list.items();
  if (!given[2].is_integer() || given[2].as_integer() < 1 || given[2].as_integer() > kMost) {
    fail(list, name, std::string(function) + " makes 1 to 1,000,000 values");
  }
  double first = given[0].as_float(), last = given[1].as_float();
  if (logarithmic && (first <= 0 || last <= 0)) {
    fail(list, name, "logspace needs numbers above 0");
  }
  const std::int64_t count = given[2].as_integer();
  if (logarithmic) {
    first = std::log(first);
    last = std::log(last);
  }
  Value::Array values;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == 0 || i + 1 == count) {
      values.emplace_back(given[i == 0 ? 0 : 1].as_float());
      continue;
    }
    const double at =
        first + (last - first) * static_cast<double>(i) / static_cast<double>(count - 1);
    values.emplace_back(round_decimal(logarithmic ? std::exp(at) : at));
  }
  return values;
}

}  // namespace

Value::Array values_of(const Value& dimension, const std::string& name) {
  if (dimension.is_array()) return dimension.items();
  if (dimension.is_table() && dimension.members().size() == 1) {
    const Value::Member& only = dimension.members().front();
    if (only.key == "range") return parse_range(only.value, name);
    if (only.key == "linspace") return spaced(only.value, name, Scale::linear);
    if (only.key == "logspace") return spaced(only.value, name, Scale::logarithmic);
  }
  fail(dimension, name, "expected a list of values, found " + to_toml(dimension),
       "write [1, 2], { range = [0, 10] }, { linspace = [0, 1, 5] } or "
       "{ logspace = [1e-4, 1e-1, 4] }");
}

}  // namespace trivet::sweeps

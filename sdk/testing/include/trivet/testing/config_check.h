// SPDX-License-Identifier: Apache-2.0
// The round-trip check for config structs.
//
// Example (sdk/examples/snippets/checks.cpp#config):
//
//   const auto report = trivet::testing::check_config(MyConfig{.dims = 3});  // a valid sample
//   INFO(report.text());
//   REQUIRE(report.passed());
//
// It tries, through the doors a run uses: that the sample is written and read back to an equal
// struct; that every field is really read (a change of it alone makes another struct, which again
// survives the way there and back); that the schema in the plugin's file says what schema_of says;
// that every field has a doc; and that an unknown key, a wrong type, a missing required field and a
// number out of range are refused with their path.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config.h"

namespace trivet::testing {

struct ConfigReport {
  std::size_t checks = 0;
  bool valid_sample = false;
  std::vector<std::string> failures;  // one line each, naming the field

  bool passed() const { return checks > 0 && failures.empty(); }
  std::string text() const;
};

namespace detail {

// What the check needs to know of a struct, without its type.
struct ConfigSubject {
  const Schema& schema;
  std::string_view json;  // of the note
  Value defaults;
  Value sample;
  std::function<Value(const Value&)> round_trip;  // encode(decode(value))
};

ConfigReport check_config(const ConfigSubject& subject);

}  // namespace detail

// `sample` must be a valid config: required fields set, everything in range. [any-thread]
template <class C>
ConfigReport check_config(const C& sample) {
  ConfigReport report =
      detail::check_config({schema_of<C>(), schema_json<C>(), encode(C{}), encode(sample),
                            [](const Value& value) { return encode(decode<C>(value)); }});
  if (report.valid_sample && !equal(decode<C>(encode(sample)), sample)) {
    report.failures.push_back("the sample does not read back to an equal struct");
  }
  return report;
}

}  // namespace trivet::testing

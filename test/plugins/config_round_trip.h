// SPDX-License-Identifier: Apache-2.0
// The round-trip check that plugin authors use, as an assertion: a config with these values
// survives the way to a file and back.
#pragma once

#include <catch2/catch.hpp>

#include "trivet/testing/config_check.h"

namespace trivet::test {

template <class C>
void check_round_trip(const C& sample) {
  const auto report = testing::check_config(sample);
  INFO(schema_of<C>().name << "\n" << report.text());
  CHECK(report.passed());
}

// The same for a default config after `set(config)`.
template <class C, class Set>
void check_round_trip_with(Set&& set) {
  C sample;
  set(sample);
  check_round_trip(sample);
}

}  // namespace trivet::test

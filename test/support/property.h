// SPDX-License-Identifier: Apache-2.0
// rapidcheck's properties as Catch2 assertions, from a fixed seed: the same cases on every run.
#pragma once

#include <rapidcheck.h>

#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>

#include <catch2/catch.hpp>
#include <rapidcheck/detail/TestListenerAdapter.h>

namespace trivet::test {

// Tries `property`, a function of random arguments with RC_ASSERT inside, on 100 of them.
template <class Property>
void check_property(Property&& property) {
  rc::detail::TestParams params;
  params.seed = 20;
  rc::detail::TestListenerAdapter silent;
  const auto result = rc::detail::checkTestable(
      std::forward<Property>(property), rc::detail::TestMetadata{}, params, silent,
      std::unordered_map<std::string, rc::detail::Reproduce>{});
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  INFO(message.str());
  CHECK(result.template is<rc::detail::SuccessResult>());
}

}  // namespace trivet::test

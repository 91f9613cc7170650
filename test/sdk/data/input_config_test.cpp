// SPDX-License-Identifier: Apache-2.0
// The checks of all inputs' configs, and errors of host shares.
#include <catch2/catch.hpp>

#include "trivet/input.h"

using trivet::Value;

namespace {

std::string error_of(const Value& fields) {
  try {
    trivet::decode<trivet::InputConfig>(fields, "task.train_input");
  } catch (const trivet::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a host index must be below the number of hosts") {
  const Value fields =
      Value::table({{"batch_size", 8}, {"num_infeed_hosts", 2}, {"infeed_host_index", 2}});
  CHECK_THAT(error_of(fields), Catch::Contains("task.train_input.infeed_host_index") &&
                                   Catch::Contains("num_infeed_hosts (2)"));
  CHECK(error_of(Value::table(
            {{"batch_size", 8}, {"num_infeed_hosts", 2}, {"infeed_host_index", 1}})) == "no error");
}

TEST_CASE("a batch size is required and at least 1") {
  CHECK_THAT(error_of(Value::table()), Catch::Contains("batch_size"));
  CHECK_THAT(error_of(Value::table({{"batch_size", 0}})), Catch::Contains("batch_size"));
}

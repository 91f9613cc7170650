// SPDX-License-Identifier: Apache-2.0
// Every op with every form of operand: views, other types and devices, missing, empty.
#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/testing/operand_check.h"

namespace trivet::test {

TEST_CASE("every op accepts every operand as a view and refuses invalid ones", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    CHECK(testing::check_operands(backend.table) == "");
  }
}

TEST_CASE("an op that the kit does not know is checked by its own operands", "[ops]") {
  const auto problems = [](const std::string& op) {
    testing::OperandCase own{.op = op, .form = "own"};
    own.operands = [](std::int64_t rows) -> std::vector<testing::Operand> {
      return {{.name = "x", .shape = {rows, 5}}};
    };
    own.call = [](std::span<const Tensor> in) { return ops::neg(in[0]); };
    return testing::check_operands(named_backends().front().table, {.only = op, .more = {own}});
  };
  CHECK(problems("neg") == "");
  // Its errors call it neg.
  CHECK_THAT(problems("opposite"), Catch::Contains("opposite (own)"));
}

}  // namespace trivet::test

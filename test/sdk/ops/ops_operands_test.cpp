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

}  // namespace trivet::test

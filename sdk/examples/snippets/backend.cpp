// SPDX-License-Identifier: Apache-2.0
// What trivet/backend/backend_support.h shows, and the checks of trivet/testing/ for backends.
#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

#include <trivet/backend/backend_support.h>
#include <trivet/plugin/registry.h>
#include <trivet/testing/backend_conformance.h>
#include <trivet/testing/operand_check.h>

#include "fixtures.h"

namespace backend_example {

namespace {

// [table]
tv_status info(tv_info* out) {
  trivet::backends::describe_processor(*out, "acme (loops)");
  return TV_OK;
}

tv_backend make_table() {
  tv_backend table = trivet::backends::empty_table();
  trivet::backends::use_ordinary_memory(table);
  table.info = info;  // and so on: open, close and the kernels
  return table;
}
// [/table]

const tv_backend* my_backend() {
  snippets::use_plugin("tiny");
  return static_cast<const tv_backend*>(trivet::registry().table("backend", "tiny/Backend"));
}

}  // namespace

TEST_CASE("example: a backend of loops has ordinary memory and describes the processor") {
  const tv_backend table = make_table();
  tv_info about{};
  REQUIRE(table.info(&about) == TV_OK);
  CHECK(about.name == std::string("acme (loops)"));
  CHECK(about.host_visible == 1);
  void* memory = nullptr;
  REQUIRE(table.alloc(nullptr, 100, &memory) == TV_OK);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
  table.free(nullptr, memory);
  CHECK(table.matmul == nullptr);
}

TEST_CASE("example: a backend passes the conformance kit") {
  // [conformance]
  const auto report = trivet::testing::check_backend(my_backend());
  INFO(report.text());
  REQUIRE(report.passed());
  // [/conformance]
}

TEST_CASE("example: a backend is right on operands of every kind") {
  // [operands]
  const tv_backend* mine = my_backend();
  REQUIRE(trivet::testing::check_operands(mine) == "");
  // [/operands]
}

}  // namespace backend_example

// SPDX-License-Identifier: Apache-2.0
#include "profile/op_times.h"

#include <algorithm>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/ops.h"

namespace op_times_test {

using namespace trivet;

TEST_CASE("an op is timed by its kernels, forward and backward") {
  const auto device = test::open_device("tiny/Backend");
  Device* const devices[] = {device.get()};
  const OpCase product{"matmul", "8 x 4 x 6", [](Operands& o) -> std::function<Tensor()> {
                         const Tensor a = o.leaf({8, 4}), b = o.leaf({4, 6});
                         return [=] { return ops::matmul(a, b); };
                       }};
  const std::vector<OpTime> times = time_op(product, devices);
  REQUIRE(times.size() == 1);
  CHECK(times[0].forward.kernels == std::vector<std::string>{"matmul"});
  CHECK(times[0].forward.seconds > 0);
  CHECK(times[0].forward.flops == 2 * 8 * 4 * 6);
  CHECK(times[0].forward.bytes == 4 * (8 * 4 + 4 * 6 + 8 * 6));
  REQUIRE(times[0].backward);
  CHECK(times[0].backward->flops >= 2 * 2 * 8 * 4 * 6);  // and copies to the leaves
  CHECK(std::ranges::count(times[0].backward->kernels, "matmul") == 2);
}

TEST_CASE("an op of operands without gradient has no backward pass") {
  const auto device = test::open_device("tiny/Backend");
  Device* const devices[] = {device.get()};
  const OpCase sum{"sum", "5", [](Operands& o) -> std::function<Tensor()> {
                     const Tensor x = o.values({5});
                     return [=] { return ops::sum(x); };
                   }};
  CHECK_FALSE(time_op(sum, devices).at(0).backward);
}

TEST_CASE("no two cases have the same op and operands") {
  std::set<std::string> names;
  for (const OpCase& op : op_cases()) {
    CHECK(names.insert(std::string(op.op) + ", " + std::string(op.operands)).second);
  }
  CHECK(names.size() > 20);
}

}  // namespace op_times_test

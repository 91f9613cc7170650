// SPDX-License-Identifier: Apache-2.0
// What trivet/tensor/profile.h shows: the time of each kernel of some work.
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/ops.h>
#include <trivet/tensor/profile.h>

#include "fixtures.h"

namespace profile_example {

using namespace trivet;

TEST_CASE("example: a profile has the time of each kernel") {
  const auto opened = snippets::open_device();
  Device& device = *opened;
  const Tensor a = Tensor::full(device, {8, 4}, 1), b = Tensor::full(device, {4, 2}, 2);
  std::vector<std::pair<std::string, double>> printed;
  const auto print = [&](std::string_view name, double seconds) {
    printed.emplace_back(name, seconds);
  };
  // [profile]
  Profile profile(device);
  const Tensor c = ops::matmul(a, b);
  for (const Profile::Kernel& kernel : profile.kernels()) print(kernel.name, kernel.seconds);
  // [/profile]
  REQUIRE(printed.size() == 1);
  CHECK(printed[0].first == "matmul");
  CHECK(printed[0].second > 0);
  CHECK(c.to_host<float>()[0] == 8);
}

}  // namespace profile_example

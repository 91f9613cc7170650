// SPDX-License-Identifier: Apache-2.0
// What trivet/tensor/device.h shows: functions of a backend that it must have, and that it may
// lack.
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/ops.h>
#include <trivet/tensor.h>
#include <trivet/tensor/device.h>

#include "fixtures.h"

namespace device_example {

using namespace trivet;

TEST_CASE("example: a function that every backend has is called") {
  const auto opened = snippets::open_device();
  Device& device = *opened;
  Tensor x = Tensor::full(device, {2}, 3);
  const tv_view view = x.mutable_view();
  // [call]
  device.call("fill", &tv_backend::fill, &view, 0.0);
  // [/call]
  CHECK(x.to_host<float>() == std::vector<float>{0, 0});
}

TEST_CASE("example: a kernel that the backend lacks is composed, and that is counted") {
  const auto opened = snippets::open_device();
  Device& device = *opened;
  tv_norm args{};
  args.struct_size = sizeof args;
  int composed = 0;
  const auto compose = [&](const tv_norm&) { ++composed; };
  // [try_kernel]
  if (!device.try_kernel("norm_fwd", &tv_backend::norm_fwd, &args)) compose(args);
  // [/try_kernel]
  CHECK(composed == 1);  // tiny/Backend has the mandatory kernels only
  REQUIRE(device.kernel_uses().size() == 1);
  CHECK(device.kernel_uses().front().kernel == "norm_fwd");
  CHECK(device.kernel_uses().front().fallback == 1);
}

}  // namespace device_example

// SPDX-License-Identifier: Apache-2.0
// The backends that engine tests run on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trivet/tensor/device.h"

namespace trivet::test {

struct NamedBackend {
  std::string name;
  const tv_backend* table;
};

// The shipped backends: unchanged, with mandatory functions only, and with memory that the host
// cannot access.
const std::vector<NamedBackend>& named_backends();

// The first of them, for tests that do not depend on the backend.
const tv_backend* any_backend();

// With two threads, so that a kernel that divides its work incorrectly is detected.
std::unique_ptr<Device> open(const NamedBackend& backend);
std::unique_ptr<Device> open_any(std::uint64_t memory_limit = 0);

}  // namespace trivet::test

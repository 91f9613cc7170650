// SPDX-License-Identifier: Apache-2.0
// Tables with fewer functions. (fake_device is in fake_device.cpp.)
#include "trivet/testing/backend_wrappers.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "trivet/error.h"

namespace trivet::testing {
namespace {

// A copy that may be shorter than our table: what the backend does not know is null.
tv_backend whole(const tv_backend& backend) {
  tv_backend copy{};
  std::memcpy(&copy, &backend, std::min<std::size_t>(backend.struct_size, sizeof copy));
  copy.struct_size = sizeof copy;
  return copy;
}

struct Named {
  const char* name;
  std::size_t offset;
};

#define TRIVET_KERNEL(kernel) {#kernel, offsetof(tv_backend, kernel)},
// clang-format off
constexpr Named kOptional[] = {
    TV_FOR_EACH_OPTIONAL_KERNEL(TRIVET_KERNEL)
    TRIVET_KERNEL(alloc_host) TRIVET_KERNEL(free_host) TRIVET_KERNEL(transfer_async)
    TRIVET_KERNEL(capture) TRIVET_KERNEL(extension)
};
// clang-format on
#undef TRIVET_KERNEL

void clear(tv_backend& table, const Named& kernel) {
  std::memset(reinterpret_cast<char*>(&table) + kernel.offset, 0, sizeof(void*));
}

}  // namespace

tv_backend mandatory_only(const tv_backend& backend) {
  tv_backend table = whole(backend);
  for (const Named& kernel : kOptional) clear(table, kernel);
  return table;
}

tv_backend without(const tv_backend& backend, const char* name) {
  tv_backend table = whole(backend);
  for (const Named& kernel : kOptional) {
    if (std::strcmp(kernel.name, name) != 0) continue;
    clear(table, kernel);
    return table;
  }
  throw Error("no optional backend function \"" + std::string(name) + "\"");
}

}  // namespace trivet::testing

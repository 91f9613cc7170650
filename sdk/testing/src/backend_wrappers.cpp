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

#define TRIVET_SLOT(slot) {#slot, offsetof(tv_backend, slot)},
// clang-format off
constexpr Named kOptional[] = {
    TV_FOR_EACH_OPTIONAL_KERNEL(TRIVET_SLOT)
    TRIVET_SLOT(alloc_host) TRIVET_SLOT(free_host) TRIVET_SLOT(transfer_async)
    TRIVET_SLOT(capture) TRIVET_SLOT(extension)
};
// clang-format on
#undef TRIVET_SLOT

void clear(tv_backend& table, const Named& slot) {
  std::memset(reinterpret_cast<char*>(&table) + slot.offset, 0, sizeof(void*));
}

}  // namespace

tv_backend mandatory_only(const tv_backend& backend) {
  tv_backend table = whole(backend);
  for (const Named& slot : kOptional) clear(table, slot);
  return table;
}

tv_backend without(const tv_backend& backend, const char* name) {
  tv_backend table = whole(backend);
  for (const Named& slot : kOptional) {
    if (std::strcmp(slot.name, name) != 0) continue;
    clear(table, slot);
    return table;
  }
  throw Error("no optional backend function \"" + std::string(name) + "\"");
}

}  // namespace trivet::testing

// SPDX-License-Identifier: Apache-2.0
#include "cli/device_options.h"

#include <utility>

#include "cli/option_number.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/plugin/registry.h"

namespace trivet {

std::int64_t device_index(const Arguments& arguments) {
  return option_number(arguments, "device", 0, 1 << 20).value_or(0);
}

std::shared_ptr<ThreadPool> thread_pool(const Arguments& arguments) {
  return std::make_shared<ThreadPool>(
      static_cast<int>(option_number(arguments, "threads", 0, 1024).value_or(0)));
}

std::unique_ptr<Device> open_backend(const std::string& key, const std::string& where,
                                     std::int64_t index, std::shared_ptr<ThreadPool> pool) {
  DeviceOptions options;
  options.key = key;
  options.index = static_cast<int>(index);
  options.pool = std::move(pool);
  const void* table = registry().table("backend", options.key, Origin{}, where);
  return Device::open(static_cast<const tv_backend*>(table), std::move(options));
}

}  // namespace trivet

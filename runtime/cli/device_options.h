// SPDX-License-Identifier: Apache-2.0
// The options of commands that open a backend without a config.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "trivet/config/arguments.h"
#include "trivet/tensor/device.h"

namespace trivet {

inline constexpr OptionSpec kDeviceOption{
    .name = "device", .value = "N", .doc = "Same as runtime.device; default 0"};
inline constexpr OptionSpec kThreadsOption{
    .name = "threads", .value = "N", .doc = "Same as runtime.threads; default one per core"};

// --device and --threads.
std::int64_t device_index(const Arguments& arguments);
std::shared_ptr<ThreadPool> thread_pool(const Arguments& arguments);

// Opens the backend of this key. Throws Error if there is none; `where` says where the key is from,
// e.g. "--backend".
std::unique_ptr<Device> open_backend(const std::string& key, const std::string& where,
                                     std::int64_t index, std::shared_ptr<ThreadPool> pool);

}  // namespace trivet

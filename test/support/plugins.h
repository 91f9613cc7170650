// SPDX-License-Identifier: Apache-2.0
// Loads built plugins as libraries, as a run does, for tests that use their objects.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/tensor/device.h"

namespace trivet::test {

// Loads the plugin from plugin_dir() into the registry of this process, once. Throws Error if that
// fails.
void use_plugin(const std::string& name);

// The built backends that a test should run on: "tiny/Backend", "cpu/Highway".
std::vector<std::string> backends();

// Opens a backend with two compute threads.
std::unique_ptr<Device> open_device(const std::string& backend);

}  // namespace trivet::test

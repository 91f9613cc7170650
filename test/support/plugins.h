// SPDX-License-Identifier: Apache-2.0
// The built plugins, for tests that want their objects: loaded as libraries, so that a test sees
// what a run sees.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/tensor/device.h"

namespace trivet::test {

// Loads the plugin from plugin_dir() into the registry of this process; once, however often it is
// called. Throws Error when it cannot.
void use_plugin(const std::string& name);

// The built backends that a test should run on: "tiny/Backend", "cpu/OpenBlas".
std::vector<std::string> backends();

// Opens one of them, with two compute threads.
std::unique_ptr<Device> open_device(const std::string& backend);

}  // namespace trivet::test

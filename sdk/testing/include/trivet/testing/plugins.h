// SPDX-License-Identifier: Apache-2.0
// Plugins in a test program: loaded as libraries, so that a test sees what a run sees.
//
// Example (sdk/examples/snippets/checks.cpp#plugins):
//
//   trivet::testing::load_plugin(build_dir / "acme.so");
//   trivet::testing::load_plugins(plugin_dir);  // `pkg-config --variable=plugindir trivet-sdk`
//   const auto device = trivet::testing::open_device("tiny/Backend");
//   trivet::ParameterStore store(*device, trivet::RngKey(1));
//   auto layer = trivet::Scope(store).layer("layer", {"acme/Scale", trivet::Value::table()});
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "trivet/tensor/device.h"

namespace trivet::testing {

// Loads a plugin into the registry of this process; once, however often it is called. The plugin is
// called as its file. Throws PluginError when it is no plugin, is built for another trivet, refuses
// to start or offers an item that is taken.
void load_plugin(const std::filesystem::path& file);

// Every "*.so" of the directory, in the order of their names. Throws as load_plugin, and for a
// directory that cannot be read.
void load_plugins(const std::filesystem::path& directory);

// A backend of a loaded plugin, with its default options and this many compute threads. Throws
// ConfigError when no loaded plugin has it, and what the backend's open throws.
std::unique_ptr<Device> open_device(const std::string& key, int threads = 2);

}  // namespace trivet::testing

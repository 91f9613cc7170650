// SPDX-License-Identifier: Apache-2.0
// Where tests find what was built. Environment variables (TRIVET_PROGRAM, TRIVET_PLUGIN_PATH,
// TRIVET_SOURCE_ROOT) override the build's paths, so the same tests run against an installed tree.
#pragma once

#include <filesystem>

namespace trivet::test {

std::filesystem::path program();      // the `trivet` program
std::filesystem::path plugin_dir();   // the folder with the plugins' libraries
std::filesystem::path source_root();  // the folder with configs/ and test/
std::filesystem::path build_root();   // the folder that the build was set up in

}  // namespace trivet::test

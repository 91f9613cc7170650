// SPDX-License-Identifier: Apache-2.0
// Folders of the user who runs this process. An environment variable that is not an absolute path
// is ignored, as the XDG base directory specification requires.
#pragma once

#include <filesystem>

namespace trivet {

std::filesystem::path home_directory();   // empty: unknown
std::filesystem::path cache_directory();  // XDG_CACHE_HOME, else ~/.cache; empty: unknown

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// Folders of the user who runs this process. An environment variable that is no absolute path is
// left out of account, as the XDG base directory specification wants it.
#pragma once

#include <filesystem>

namespace trivet {

std::filesystem::path home_directory();   // empty: unknown
std::filesystem::path cache_directory();  // XDG_CACHE_HOME, else ~/.cache; empty: unknown

}  // namespace trivet

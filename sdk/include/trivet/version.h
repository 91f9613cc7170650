// SPDX-License-Identifier: Apache-2.0
// Versions of the program and of the plugin contract.
#pragma once

#include <string_view>

#include "trivet/base/export.h"

namespace trivet {

// The contract between host and plugins. A plugin runs only in a host with the same major number
// and at least its minor number; the host checks this before it opens the library.
inline constexpr int kSdkMajor = 1;
inline constexpr int kSdkMinor = 0;

// Version of the release this library belongs to, for example "0.1.0". The text lives as long as
// the process. [any-thread]
TRIVET_API std::string_view version() noexcept;

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// A name for a piece of text, the same on every machine and in every version: 32 hex digits (XXH3,
// 128 bits). It tells texts apart that differ by accident, not those that somebody forged.
#pragma once

#include <string>
#include <string_view>

#include "trivet/plugin/export.h"

namespace trivet {

TRIVET_API std::string digest(std::string_view text);

}  // namespace trivet

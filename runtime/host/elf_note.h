// SPDX-License-Identifier: Apache-2.0
//
// Reads the note that TRIVET_PLUGIN put into a library, from an open file and without mapping or
// running it. The file is hostile until proven otherwise: every offset is checked against the
// file's size, every size is capped, and nothing is allocated from a number in the file beyond the
// cap.
#pragma once

#include <cstddef>
#include <string>

namespace trivet {

// Larger than any schema; 30 items of 100 documented fields take 0.4 MiB.
inline constexpr std::size_t kLargestNote = std::size_t{4} << 20;

struct PluginNote {
  std::string text;   // JSON; empty when `error` is not
  std::string error;  // why there is none
};

// A library that would share variables of the SDK's templates with others (STB_GNU_UNIQUE) is an
// error: the loader makes one of two that belong to different structs of one name.
//
// `descriptor` stays open and its offset does not move. Program headers are searched first, section
// headers after them, because some tools that edit libraries move notes out of their segment.
PluginNote read_plugin_note(int descriptor);

}  // namespace trivet

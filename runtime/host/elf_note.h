// SPDX-License-Identifier: Apache-2.0
// Reads the note that TRIVET_PLUGIN put into a library, from an open file and without mapping or
// running it. The file is untrusted: every offset is checked against the file's size, every size is
// capped, and no allocation exceeds the cap.
#pragma once

#include <cstddef>
#include <string>

namespace trivet {

// Larger than any schema; 30 items of 100 documented fields take 0.4 MiB.
inline constexpr std::size_t kLargestNote = std::size_t{4} << 20;

struct PluginNote {
  std::string text;   // JSON; empty if `error` is set
  std::string error;  // why there is no note
};

// A library that would share variables of the SDK's templates with others (STB_GNU_UNIQUE) is an
// error: the loader would merge the variables of different structs with the same name.
//
// `descriptor` stays open and its offset does not change. Searches program headers first, then
// section headers, because some tools that edit libraries move notes out of their segment.
PluginNote read_plugin_note(int descriptor);

}  // namespace trivet

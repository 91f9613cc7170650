// SPDX-License-Identifier: Apache-2.0
// The schemas of a note's items are most of its text, and a command needs few of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trivet {

struct SplitNote {
  std::string rest;                       // each schema is replaced by its index
  std::vector<std::string_view> schemas;  // in the text that was split
};

// Takes the values of "schema" out of the objects of level 3, which are the items. Does not check
// that text and schemas are JSON. Throws Error if the text has more levels than
// `deepest`.
SplitNote split_schemas(std::string_view text, int deepest);

}  // namespace trivet

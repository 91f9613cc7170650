// SPDX-License-Identifier: Apache-2.0
// Random texts of the kinds on which tokenizers differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace trivet::test {

// Well-formed UTF-8: words of many scripts, combining marks, joined emoji, ideographs, runs of
// digits, all kinds of blanks and line ends, control characters, contractions, ligatures and
// special tokens. All characters are in Unicode 6.1. The same seed gives the same texts.
std::vector<std::string> odd_texts(std::size_t count, std::uint64_t seed = 1);

}  // namespace trivet::test

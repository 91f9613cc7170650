// SPDX-License-Identifier: Apache-2.0
// Texts that tokenizers learn from: files, compressed or not (trivet/os/input_file.h).
#pragma once

#include <filesystem>
#include <string>

namespace trivet::tokenizers {

// What to do with a file that is no text.
inline constexpr const char* kNoTextHint =
    "tokenizers learn from text; tokenizers/Bytes takes any bytes and learns nothing";

// The file's text. Throws InputError when it cannot be read, is no text or has more than a GiB.
std::string read_corpus(const std::filesystem::path& file);

}  // namespace trivet::tokenizers

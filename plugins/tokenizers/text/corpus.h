// SPDX-License-Identifier: Apache-2.0
// Texts for training tokenizers: files, compressed or not (trivet/os/input_file.h).
#pragma once

#include <filesystem>
#include <string>

namespace trivet::tokenizers {

// The hint for a file that is not text.
inline constexpr const char* kNoTextHint =
    "tokenizers train on text; tokenizers/Bytes accepts any bytes and needs no training";

// Returns the file's text. Throws InputError if it cannot be read, is not text or exceeds one GiB.
std::string read_corpus(const std::filesystem::path& file);

}  // namespace trivet::tokenizers

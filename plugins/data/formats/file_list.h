// SPDX-License-Identifier: Apache-2.0
// Which files a config names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/config/field_types.h"

namespace trivet::data {

// The files that names and patterns (glob(7): *, ?, [a-z]) stand for, in the order of their
// bytes, so that neither the locale nor the file system has a say. A file is there once, under its
// first name, also where links give it more (/usr/share/common-licenses has GPL and GPL-3). A name
// that is a file stands for that file, whatever characters it has. Throws InputError for a pattern
// that fits nothing and for a list without files.
std::vector<std::string> list_files(const std::vector<Path>& patterns);

// "a.txt", or "a.txt and 3 more": files for messages.
std::string summary_of(const std::vector<std::string>& files);

// Bytes in all of them, of compressed ones when decompressed. What is no regular file counts
// nothing; it cannot be read either and says so then.
std::uint64_t bytes_of(const std::vector<std::string>& files);

// A regular file without a byte in it.
bool is_empty(const std::string& file);

}  // namespace trivet::data

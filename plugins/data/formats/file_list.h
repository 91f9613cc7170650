// SPDX-License-Identifier: Apache-2.0
// Lists the files that a config names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/config/field_types.h"

namespace trivet::data {

// Returns the files that match names and patterns (glob(7): *, ?, [a-z]), in byte order, so the
// result does not depend on the locale or the file system. A file with several names (links:
// /usr/share/common-licenses has GPL and GPL-3) is listed once, under its first name. An existing
// file's name matches that file literally, whatever characters it has. Throws InputError for a
// pattern without a match and for an empty list.
std::vector<std::string> list_files(const std::vector<Path>& patterns);

// "a.txt", or "a.txt and 3 more", for messages.
std::string summary_of(const std::vector<std::string>& files);

// Returns the total size of the files, decompressed. A path that is not a regular file counts 0:
// reading it reports the error.
std::uint64_t bytes_of(const std::vector<std::string>& files);

// Whether this is a regular file without bytes.
bool is_empty(const std::string& file);

}  // namespace trivet::data

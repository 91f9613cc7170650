// SPDX-License-Identifier: Apache-2.0
// Writes a Value as TOML 1.0 text that parses to an equal Value (numbers have the same bits; nulls,
// which TOML lacks, are omitted).
#pragma once

#include <string>

#include "trivet/config/value.h"

namespace trivet {

struct TomlWriterOptions {
  bool origins = false;  // adds a comment with its origin to each value
  std::string header{};  // comment lines for the top of the file, without '#'
  // The same table with references resolved. Adds a comment with its value to each reference.
  const Value* meanings = nullptr;
};

// `table` is the whole file. Tables become [sections], arrays of tables [[sections]], all other
// values `key = value` in the order of the members. Throws Error for strings that are not UTF-8,
// which TOML cannot represent.
std::string write_toml(const Value& table, const TomlWriterOptions& options = {});

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
//
// Value to TOML text that any TOML 1.0 reader understands and that reads back to an equal Value
// (numbers to the same bits; nulls, which TOML lacks, are left out).
#pragma once

#include <string>

#include "trivet/config/value.h"

namespace trivet {

struct TomlWriterOptions {
  bool origins = false;  // a comment behind each value says where it came from
  std::string header{};  // comment lines for the top, without '#'
  // The same table with references resolved: a comment behind each reference says what it means.
  const Value* meanings = nullptr;
};

// `table` is the whole file. Tables become [sections], arrays of tables [[sections]], everything
// else `key = value` in the order of the members. Throws Error for text that is not UTF-8, which
// TOML cannot hold.
std::string write_toml(const Value& table, const TomlWriterOptions& options = {});

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// The keys of a config that no field has. They are kept until the walk is over: by then every table
// is known, so that a key that is merely in the wrong one can be sent to the right one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/error.h"

namespace trivet {

class UnknownKeys {
 public:
  // A table that may hold these fields, whether the config has it or not. Returns its index.
  std::size_t add_table(std::string path, const std::vector<Field>& fields);
  // A key that the fields of a table do not have. `is_table`: its value.
  void add_key(Origin where, std::size_t table, std::string key, bool is_table);
  // Adds a problem for every key, with the name or the location it was probably meant for.
  void report(Diagnostics& diagnostics) const;

 private:
  struct Table {
    std::string path;
    const std::vector<Field>* fields;
  };
  struct Key {
    Origin where;
    std::size_t table;
    std::string name;
    bool is_table;
  };

  std::string hint_for(const Key& unknown) const;
  // Where else there are fields of this name; the first three locations.
  std::string other_locations(const Key& unknown) const;
  std::string near_paths(const Key& unknown) const;

  std::vector<Table> tables_;
  std::vector<Key> keys_;
};

}  // namespace trivet

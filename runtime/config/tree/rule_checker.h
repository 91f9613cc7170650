// SPDX-License-Identifier: Apache-2.0
// Checks the rules that only plugins know: the `validate` of every config struct, and the
// restrictions of experiments.
#pragma once

#include <exception>
#include <string>

#include "config/tree/config_catalog.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

class RuleChecker {
 public:
  // All arguments must outlive this object. Errors are added to the diagnostics.
  RuleChecker(const TypedTree& tree, ConfigCatalog& catalog, Diagnostics& diagnostics)
      : tree_(tree), catalog_(catalog), diagnostics_(diagnostics) {}

  // Validates the struct of every table with a `type`, at any depth of a filled tree, and loads the
  // plugins that the tree names. Skips tables that do not match their schema.
  void check_tree(const Value& root) { visit(root, tree_.root(), {}); }
  // The same for one table of an item.
  void check_table(const Value& table, const std::string& kind, const std::string& key,
                   const std::string& path);
  // Checks the whole config against the restrictions of the registered experiments in the list at
  // `path`. Loads their plugins. A missing experiment is an error.
  void check_restrictions(const Value& experiments, const std::string& path, const Value& whole);

  // The error of the first unusable plugin, to throw if there are no other errors.
  std::exception_ptr refused() const { return refused_; }

 private:
  void visit(const Value& value, const SchemaNode& node, const std::string& path);
  void add_missing(Diagnostic problem, const Origin& where, const std::string& path);

  const TypedTree& tree_;
  ConfigCatalog& catalog_;
  Diagnostics& diagnostics_;
  std::exception_ptr refused_;
};

}  // namespace trivet

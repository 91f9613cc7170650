// SPDX-License-Identifier: Apache-2.0
//
// The rules of a config that only the plugins know: the `validate` of every config struct in it,
// and the restrictions of experiments.
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
  // All must outlive it. What the rules say is added to `problems`.
  RuleChecker(const TypedTree& tree, ConfigCatalog& catalog, Diagnostics& diagnostics)
      : tree_(tree), catalog_(catalog), diagnostics_(diagnostics) {}

  // Asks the struct behind every table with a `type`, at any depth of a tree that has been filled,
  // and loads the plugins that the tree names. Tables that the schemas refuse are left out.
  void check_tree(const Value& root) { visit(root, tree_.root(), {}); }
  // The same for one table of an item.
  void check_table(const Value& table, const std::string& kind, const std::string& key,
                   const std::string& path);
  // The restrictions of the registered experiments in a list, which stands at `path`, on the whole
  // config. Loads their plugins. One that is not there is a problem.
  void check_restrictions(const Value& experiments, const std::string& path, const Value& whole);

  // The error of the first plugin that cannot be used, to be thrown if nothing else is wrong.
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

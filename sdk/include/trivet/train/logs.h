// SPDX-License-Identifier: Apache-2.0
// Logs: named numbers in the order they were added: what a step, a loop or an evaluation reports.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API Logs {
 public:
  using Entry = std::pair<std::string, double>;
  void set(std::string_view name, double value);  // replaces or appends
  const double* find(std::string_view name) const;
  void merge(const Logs& other);  // the other's values win
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace trivet

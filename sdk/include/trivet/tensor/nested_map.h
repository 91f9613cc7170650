// SPDX-License-Identifier: Apache-2.0
// NestedMap: an ordered map from path to Tensor, e.g. a batch {"image", "label", "weight"} or
// {"encoder/ids", ...}. Nesting is in the path; `child("encoder")` gives the entries below it.
// Order is that of insertion. The name is Pax'.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/tensor.h"

namespace trivet {

class TRIVET_API NestedMap {
 public:
  using Entry = std::pair<std::string, Tensor>;
  NestedMap() = default;
  NestedMap(std::initializer_list<Entry> entries);

  bool contains(std::string_view path) const { return find(path) != nullptr; }
  const Tensor* find(std::string_view path) const;
  // Throws Error that lists the paths there are.
  const Tensor& at(std::string_view path) const;
  void set(std::string_view path, Tensor value);  // replaces or appends
  void erase(std::string_view path);
  NestedMap child(std::string_view prefix) const;  // entries below "prefix/", without the prefix

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  NestedMap to(Device& device) const;  // every entry

 private:
  std::vector<Entry> entries_;
};

using Batch = NestedMap;

}  // namespace trivet

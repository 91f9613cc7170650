// SPDX-License-Identifier: Apache-2.0
// NestedMap: a flat vector; batches have a handful of entries, so looking through them is fastest.
#include "trivet/tensor/nested_map.h"

#include <algorithm>

#include "trivet/error.h"

namespace trivet {

NestedMap::NestedMap(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

const Tensor* NestedMap::find(std::string_view path) const {
  for (const Entry& entry : entries_) {
    if (entry.first == path) return &entry.second;
  }
  return nullptr;
}

const Tensor& NestedMap::at(std::string_view path) const {
  if (const Tensor* found = find(path)) return *found;
  std::string known;
  for (const Entry& entry : entries_) known += (known.empty() ? "" : ", ") + entry.first;
  throw Error("no entry \"" + std::string(path) +
              "\" in the map (it has: " + (known.empty() ? "nothing" : known) + ")");
}

void NestedMap::set(std::string_view path, Tensor value) {
  for (Entry& entry : entries_) {
    if (entry.first != path) continue;
    entry.second = std::move(value);
    return;
  }
  entries_.emplace_back(path, std::move(value));
}

void NestedMap::erase(std::string_view path) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.first == path; });
}

NestedMap NestedMap::child(std::string_view prefix) const {
  NestedMap below;
  for (const Entry& entry : entries_) {
    std::string_view path = entry.first;
    if (path.size() > prefix.size() && path.starts_with(prefix) && path[prefix.size()] == '/') {
      below.entries_.emplace_back(path.substr(prefix.size() + 1), entry.second);
    }
  }
  return below;
}

NestedMap NestedMap::to(Device& device) const {
  NestedMap moved;
  moved.entries_.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    moved.entries_.emplace_back(entry.first, entry.second.to(device));
  }
  return moved;
}

}  // namespace trivet

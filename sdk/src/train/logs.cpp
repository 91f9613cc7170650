// SPDX-License-Identifier: Apache-2.0
// Logs: a handful of entries, so looking through them in order is the fastest way.
#include "trivet/train/logs.h"

#include <algorithm>

namespace trivet {

void Logs::set(std::string_view name, double value) {
  const auto same = [&](const Entry& entry) { return entry.first == name; };
  if (const auto found = std::find_if(entries_.begin(), entries_.end(), same);
      found != entries_.end()) {
    found->second = value;
    return;
  }
  entries_.emplace_back(std::string(name), value);
}

const double* Logs::find(std::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Logs::merge(const Logs& other) {
  for (const auto& [name, value] : other) set(name, value);
}

}  // namespace trivet

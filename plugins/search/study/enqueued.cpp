// SPDX-License-Identifier: Apache-2.0
#include "search/study/enqueued.h"

#include <algorithm>
#include <string>
#include <vector>

#include "trivet/error.h"

namespace trivet::search {
namespace {

const Dimension* dimension_at(const SearchSpace& space, const std::string& path) {
  const auto found = std::find_if(space.dimensions().begin(), space.dimensions().end(),
                                  [&](const Dimension& one) { return one.path() == path; });
  return found == space.dimensions().end() ? nullptr : &*found;
}

// Whether every key is one of the space, has a value of its dimension, and is given with the keys
// of its conditions.
bool check_keys(const SearchSpace& space, const Map<Value>& given, std::string_view path,
                Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const Dimension* key : space.keys()) known.push_back(key->path());
  bool good = true;
  const auto refuse = [&](const std::string& key, const std::string& what,
                          const std::string& hint) {
    diagnostics.add(joined_path(path, key), what, hint);
    good = false;
  };
  for (const auto& [key, value] : given) {
    const Dimension* dimension = dimension_at(space, key);
    if (dimension == nullptr) {
      refuse(key, "'" + key + "' is not searched", suggestion(key, known));
    } else if (!dimension->has(value)) {
      refuse(key, to_toml(value) + " is no value of '" + key + "'",
             "its values: " + dimension->text());
    } else {
      for (const std::string& on : dimension->conditioned_on()) {
        if (given.find(on) != nullptr) continue;
        refuse(key, "'" + key + "' has a condition on '" + on + "', which is not given",
               "give both, or neither");
      }
    }
  }
  return good;
}

}  // namespace

Value in_order_of(const SearchSpace& space, const Map<Value>& given) {
  Value table = Value::table();
  for (const Dimension* key : space.keys()) {
    if (const Value* found = given.find(key->path())) table.set(key->path(), *found);
  }
  return table;
}

void check_enqueued(const SearchSpace& space, const Map<Value>& given, std::string_view path,
                    Diagnostics& diagnostics) {
  if (!check_keys(space, given, path, diagnostics)) return;
  const SearchPoint middle = space.point(std::vector<double>(space.size(), 0.5));
  const SearchPoint point = with_given(space, middle, in_order_of(space, given));
  for (const auto& entry : given) {
    const std::string& key = entry.first;
    const bool is_there =
        std::any_of(point.begin(), point.end(), [&](const auto& one) { return one.first == key; });
    if (is_there) continue;
    diagnostics.add(joined_path(path, key),
                    "the conditions of '" + key + "' do not hold for the other values",
                    "its values: " + dimension_at(space, key)->text());
  }
}

SearchPoint with_given(const SearchSpace& space, const SearchPoint& asked, const Value& given) {
  std::vector<double> unit = space.unit(asked);
  for (std::size_t d = 0; d < space.size(); ++d) {
    const Dimension& dimension = space.dimensions()[d];
    if (const Value* value = given.find(dimension.path())) unit[d] = dimension.unit(*value);
  }
  SearchPoint point = space.point(unit);
  // As they were given and asked, not as their coordinates round them.
  for (auto& [path, value] : point) {
    const auto before = std::find_if(asked.begin(), asked.end(),
                                     [&path = path](const auto& one) { return one.first == path; });
    const Value* own = given.find(path);
    if (own == nullptr && before != asked.end()) own = &before->second;
    if (own != nullptr) value = value.is_float() ? Value(own->as_float()) : *own;
  }
  return point;
}

}  // namespace trivet::search

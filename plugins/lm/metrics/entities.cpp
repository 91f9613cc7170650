// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/entities.h"

#include <algorithm>

namespace trivet::lm {
namespace {

struct Tag {
  char prefix = 'O';
  std::string_view type;
};

Tag tag_of(std::string_view text) {
  return {text.empty() ? 'O' : text[0], text.size() > 2 ? text.substr(2) : std::string_view()};
}

bool is_any(char c, std::string_view of) {
  return of.find(c) != std::string_view::npos;
}

bool ends_between(const Tag& before, const Tag& tag) {
  if (before.prefix == 'O') return false;
  return is_any(before.prefix, "ES") || is_any(tag.prefix, "BSO") || before.type != tag.type;
}

bool begins_at(const Tag& before, const Tag& tag) {
  if (tag.prefix == 'O') return false;
  return is_any(tag.prefix, "BS") || is_any(before.prefix, "ESO") || before.type != tag.type;
}

}  // namespace

std::vector<Entity> entities_of(std::span<const std::string_view> tags) {
  std::vector<Entity> entities;
  Tag before;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= tags.size(); ++i) {
    const Tag tag = i < tags.size() ? tag_of(tags[i]) : Tag();
    if (ends_between(before, tag)) entities.push_back({before.type, begin, i});
    if (begins_at(before, tag)) begin = i;
    before = tag;
  }
  return entities;
}

bool mark_entities(std::span<const std::string> names) {
  const auto marks = [](const std::string& name) {
    return name.size() > 2 && is_any(name[0], "BIES") && name[1] == '-';
  };
  const bool all = std::ranges::all_of(
      names, [&](const std::string& name) { return name == "O" || marks(name); });
  return all && std::ranges::any_of(names, marks);
}

}  // namespace trivet::lm

// SPDX-License-Identifier: Apache-2.0
// Entities in a sequence of tags: the spans that prefixes mark, "B-PER I-PER O" (Ramshaw and Marcus
// 1995). B begins an entity, I goes on with it, E ends it, S is one of a single word; what stands
// behind the first '-' is its type. Tags that break the scheme count as CoNLL's conlleval and
// seqeval (its default mode) have them: an I behind another type or behind O begins an entity.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trivet::lm {

struct Entity {
  std::string_view type;           // of the tag
  std::size_t begin = 0, end = 0;  // words [begin, end)
  bool operator==(const Entity&) const = default;
};

std::vector<Entity> entities_of(std::span<const std::string_view> tags);

// Whether each of the names is "O" or has one of the prefixes with a '-', and one at least has.
bool mark_entities(std::span<const std::string> names);

}  // namespace trivet::lm

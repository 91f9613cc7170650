// SPDX-License-Identifier: Apache-2.0
// Entities in a sequence of tags: the spans that prefixes mark, "B-PER I-PER O" (Ramshaw and Marcus
// 1995). B starts an entity, I continues it, E ends it, S is an entity of one word. The text after
// the first '-' is the type. Tags that break the scheme are handled as in CoNLL's conlleval and
// seqeval's default mode: an I after another type or after O starts an entity.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trivet::lm {

struct Entity {
  std::string_view type;           // from the tag
  std::size_t begin = 0, end = 0;  // words [begin, end)
  bool operator==(const Entity&) const = default;
};

std::vector<Entity> entities_of(std::span<const std::string_view> tags);

// Whether each name is "O" or a prefix with '-', and at least one is not "O".
bool mark_entities(std::span<const std::string> names);

}  // namespace trivet::lm

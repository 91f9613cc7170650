// SPDX-License-Identifier: Apache-2.0
// Lists of candidates as coordinates, one for each element (search_space.h says which). A sorted
// list has several coordinates: those of its candidates in any order.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "trivet/config/value.h"

namespace trivet::search {

enum class Repeats { allowed, refused };
enum class ListOrder { any, sorted };

struct ListRule {
  std::size_t size = 0;
  Repeats repeats = Repeats::refused;
  ListOrder order = ListOrder::any;
};

// How many values the coordinate of an element tells apart.
std::size_t cells_of(const ListRule& rule, std::size_t candidates, std::size_t slot);

// Indexes of candidates.
std::vector<std::size_t> list_at(const ListRule& rule, std::size_t candidates,
                                 std::span<const std::size_t> cells);
// Nothing for a value that is no such list.
std::optional<std::vector<std::size_t>> list_in(const ListRule& rule,
                                                const std::vector<Value>& candidates,
                                                const Value& value);
// The cell of an element of a list.
std::size_t cell_in(const ListRule& rule, std::span<const std::size_t> list, std::size_t slot);

}  // namespace trivet::search

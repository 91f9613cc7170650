// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/row_layout.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace trivet::data {
namespace {

// Returns the index of the first element of `ends` (non-decreasing) that is greater than `at`: the
// document or row that holds unit `at`.
std::int64_t owner_of(const std::vector<std::int64_t>& ends, std::int64_t at) {
  return std::upper_bound(ends.begin(), ends.end(), at) - ends.begin();
}

}  // namespace

std::vector<std::int64_t> greedy_rows(const std::vector<PackedSide>& sides) {
  std::vector<std::int64_t> ends, used(sides.size());
  const std::size_t documents = sides[0].positions.size();
  for (std::size_t i = 0; i < documents; ++i) {
    const auto length = [&](std::size_t side) {
      return std::min(sides[side].positions[i], sides[side].seq_len);
    };
    bool fits = true;
    for (std::size_t side = 0; side < sides.size(); ++side) {
      fits = fits && used[side] + length(side) <= sides[side].seq_len;
    }
    if (!fits) {
      ends.push_back(static_cast<std::int64_t>(i));
      std::ranges::fill(used, 0);
    }
    for (std::size_t side = 0; side < sides.size(); ++side) used[side] += length(side);
  }
  if (std::ranges::any_of(used, [](std::int64_t count) { return count > 0; })) {
    ends.push_back(static_cast<std::int64_t>(documents));
  }
  return ends;
}

RowLayout::RowLayout(const std::vector<std::int64_t>& positions, Rules rules) : rules_(rules) {
  add_ends(positions);
  if (!rules.pack) {
    number_windows();
  } else if (rules.trim) {
    row_ends_ = greedy_rows({{positions, rules.seq_len}});
    rows_ = static_cast<std::int64_t>(row_ends_.size());
  } else if (!ends_.empty()) {
    rows_ = (ends_.back() + rules.seq_len - 1) / rules.seq_len;
  }
}

RowLayout::RowLayout(const std::vector<std::int64_t>& positions, std::int64_t seq_len,
                     std::vector<std::int64_t> row_ends)
    : rules_{seq_len, true, true, 0}, row_ends_(std::move(row_ends)) {
  add_ends(positions);
  rows_ = static_cast<std::int64_t>(row_ends_.size());
}

void RowLayout::add_ends(const std::vector<std::int64_t>& positions) {
  std::int64_t end = 0;
  ends_.reserve(positions.size());
  for (const std::int64_t count : positions) {
    end += rules_.trim ? std::min(count, rules_.seq_len) : count;
    ends_.push_back(end);
  }
}

std::int64_t RowLayout::start(std::int64_t document) const {
  return document == 0 ? 0 : ends_[static_cast<std::size_t>(document - 1)];
}

std::int64_t RowLayout::length(std::int64_t document) const {
  return ends_[static_cast<std::size_t>(document)] - start(document);
}

void RowLayout::number_windows() {
  window_ends_.reserve(ends_.size());
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    rows_ += windows(length(static_cast<std::int64_t>(i)));
    window_ends_.push_back(rows_);
  }
}

std::int64_t RowLayout::windows(std::int64_t positions) const {
  if (positions == 0) return 0;
  const std::int64_t step = rules_.seq_len - rules_.overlap;
  return 1 + (std::max<std::int64_t>(0, positions - rules_.seq_len) + step - 1) / step;
}

Piece RowLayout::window(std::int64_t row) const {
  const std::int64_t document = owner_of(window_ends_, row);
  const std::int64_t first =
      document == 0 ? 0 : window_ends_[static_cast<std::size_t>(document - 1)];
  const std::int64_t begin = (row - first) * (rules_.seq_len - rules_.overlap);
  return {document, begin, std::min(rules_.seq_len, length(document) - begin),
          row == first ? 0 : rules_.overlap};
}

// Adds positions [begin, end) of all documents concatenated.
void RowLayout::add_pieces(std::int64_t begin, std::int64_t end, std::vector<Piece>& pieces) const {
  for (std::int64_t i = owner_of(ends_, begin); begin < end; ++i) {
    const std::int64_t stop = std::min(end, ends_[static_cast<std::size_t>(i)]);
    if (stop > begin) pieces.push_back({i, begin - start(i), stop - begin, 0});
    begin = stop;
  }
}

void RowLayout::pieces_of(std::int64_t row, std::int64_t offset, std::vector<Piece>& pieces) const {
  pieces.clear();
  const auto index = static_cast<std::size_t>(row);
  if (!rules_.pack) {
    pieces.push_back(window(row));
    return;
  }
  if (rules_.trim) {
    for (std::int64_t i = row == 0 ? 0 : row_ends_[index - 1]; i < row_ends_[index]; ++i) {
      if (length(i) > 0) pieces.push_back({i, 0, length(i), 0});
    }
    return;
  }
  const std::int64_t all = positions(), at = row * rules_.seq_len;
  const std::int64_t begin = offset + at, end = offset + std::min(at + rules_.seq_len, all);
  add_pieces(begin, std::min(end, all), pieces);
  add_pieces(std::max(begin, all) - all, std::max(end, all) - all, pieces);
}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
// RowLayout: which positions of which documents are in which row. A document of n positions has
// positions 0 to n - 1. SequenceConfig describes the rules.
//
// RowLayout stores 8 bytes per document, and 8 more per document or row under some rules. Its size
// does not depend on the length of documents.
#pragma once

#include <cstdint>
#include <vector>

namespace trivet::data {

// Positions [begin, begin + length) of a document. The first `repeated` of them were also in the
// previous row.
struct Piece {
  std::int64_t document = 0;
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int64_t repeated = 0;
  bool operator==(const Piece&) const = default;
};

// The positions of each document and the positions in a row.
struct PackedSide {
  const std::vector<std::int64_t>& positions;
  std::int64_t seq_len;
};

// Fills each row with as many documents as fit on all sides, in order, each cut to seq_len. Returns
// for each row the end of its documents. All sides have the same number of documents.
std::vector<std::int64_t> greedy_rows(const std::vector<PackedSide>& sides);

class RowLayout {
 public:
  struct Rules {
    std::int64_t seq_len = 1;
    bool pack = true;
    bool trim = false;
    std::int64_t overlap = 0;  // of windows, less than seq_len
  };
  // `positions` of each document. A document without positions is in no row.
  RowLayout(const std::vector<std::int64_t>& positions, Rules rules);
  // Whole documents, each cut to seq_len, in the rows given by `row_ends` (see greedy_rows).
  RowLayout(const std::vector<std::int64_t>& positions, std::int64_t seq_len,
            std::vector<std::int64_t> row_ends);

  std::int64_t rows() const { return rows_; }
  // The number of positions of all documents, without overlaps.
  std::int64_t positions() const { return ends_.empty() ? 0 : ends_.back(); }
  // Returns the pieces of a row in order, seq_len positions at most. Rows that are cut from all
  // documents start at position `offset`, below positions(), and wrap around. Other rows ignore it.
  void pieces_of(std::int64_t row, std::int64_t offset, std::vector<Piece>& pieces) const;

 private:
  void add_ends(const std::vector<std::int64_t>& positions);
  void number_windows();
  std::int64_t windows(std::int64_t positions) const;
  Piece window(std::int64_t row) const;
  void add_pieces(std::int64_t begin, std::int64_t end, std::vector<Piece>& pieces) const;
  std::int64_t start(std::int64_t document) const;
  std::int64_t length(std::int64_t document) const;

  Rules rules_;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> ends_;         // positions up to and including each document
  std::vector<std::int64_t> window_ends_;  // without pack: rows up to and including each document
  std::vector<std::int64_t> row_ends_;     // whole documents: the end of each row's documents
};

}  // namespace trivet::data

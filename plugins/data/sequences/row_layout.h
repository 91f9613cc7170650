// SPDX-License-Identifier: Apache-2.0
// RowLayout: which positions of which documents stand in which row. A document of n positions has
// those from 0 to n - 1; the rules are those of SequenceConfig.
//
// It keeps 8 bytes a document, and 8 more a document or row for some rules: none that grow with the
// tokens of a document.
#pragma once

#include <cstdint>
#include <vector>

namespace trivet::data {

// Positions [begin, begin + length) of a document, of which the first `repeated` were in the row
// before.
struct Piece {
  std::int64_t document = 0;
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int64_t repeated = 0;
  bool operator==(const Piece&) const = default;
};

// Positions of documents and how many of them a row has.
struct PackedSide {
  const std::vector<std::int64_t>& positions;
  std::int64_t seq_len;
};

// As many documents a row as fit on all sides, in order, each cut to seq_len where it is longer:
// the document behind each row's last. All sides have as many documents.
std::vector<std::int64_t> greedy_rows(const std::vector<PackedSide>& sides);

class RowLayout {
 public:
  struct Rules {
    std::int64_t seq_len = 1;
    bool pack = true;
    bool trim = false;
    std::int64_t overlap = 0;  // of windows, less than seq_len
  };
  // `positions` of each document. Those without any stand in no row.
  RowLayout(const std::vector<std::int64_t>& positions, Rules rules);
  // Whole documents, each cut to seq_len, in the rows that `row_ends` says (see greedy_rows).
  RowLayout(const std::vector<std::int64_t>& positions, std::int64_t seq_len,
            std::vector<std::int64_t> row_ends);

  std::int64_t rows() const { return rows_; }
  // Of all documents, without what overlaps.
  std::int64_t positions() const { return ends_.empty() ? 0 : ends_.back(); }
  // The pieces of a row, in order, with seq_len positions at most. Rows that are cut from all
  // documents start at position `offset`, below positions(), and go round; others pass it over.
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
  std::vector<std::int64_t> ends_;         // positions up to and with each document
  std::vector<std::int64_t> window_ends_;  // without pack: rows up to and with each document
  std::vector<std::int64_t> row_ends_;     // of whole documents: the one behind each row's last
};

}  // namespace trivet::data

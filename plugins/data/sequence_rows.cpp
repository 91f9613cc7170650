// SPDX-License-Identifier: Apache-2.0
#include "sequence_rows.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

namespace trivet::data {
namespace {

// Of n tokens n - 1 have one before them.
std::vector<std::int64_t> positions_of(const TokenStore& tokens, const DocumentMarks& marks) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(tokens.documents()));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t length = tokens.length(static_cast<std::int64_t>(i));
    const std::int64_t with_marks =
        length + (marks.bos.has_value() ? 1 : 0) + (marks.eos.has_value() ? 1 : 0);
    positions[i] = length == 0 ? 0 : with_marks - 1;
  }
  return positions;
}

template <class T>
std::span<T> cleared(Tensor& tensor, T value = 0) {
  const std::span<T> elements = tensor.mutable_span<T>();
  std::ranges::fill(elements, value);
  return elements;
}

}  // namespace

struct SequenceRows::Fields {
  explicit Fields(const Shape& shape)
      : ids(Tensor::host(shape, DType::i32)),
        labels(Tensor::host(shape, DType::i32)),
        weights(Tensor::host(shape)),
        paddings(Tensor::host(shape)),
        segment_ids(Tensor::host(shape, DType::i32)),
        segment_pos(Tensor::host(shape, DType::i32)),
        label_bytes(Tensor::host(shape, DType::i32)),
        inputs_indicator(Tensor::host(shape, DType::i32)) {}

  Tensor ids, labels, weights, paddings, segment_ids, segment_pos, label_bytes, inputs_indicator;
  std::span<std::int32_t> id = cleared<std::int32_t>(ids), label = cleared<std::int32_t>(labels);
  std::span<float> weight = cleared<float>(weights), padding = cleared<float>(paddings, 1);
  std::span<std::int32_t> segment = cleared<std::int32_t>(segment_ids),
                          place = cleared<std::int32_t>(segment_pos),
                          bytes = cleared<std::int32_t>(label_bytes),
                          is_input = cleared<std::int32_t>(inputs_indicator);
};

SequenceRows::SequenceRows(std::unique_ptr<TokenStore> tokens, DocumentMarks marks,
                           RowLayout::Rules rules, std::vector<std::int32_t> bytes_of_id,
                           InputsRule inputs)
    : tokens_(std::move(tokens)),
      marks_(marks),
      seq_len_(rules.seq_len),
      trim_(rules.trim),
      inputs_(inputs),
      bytes_of_id_(std::move(bytes_of_id)),
      layout_({}, rules) {
  const std::vector<std::int64_t> positions = positions_of(*tokens_, marks_);
  positions_ = std::accumulate(positions.begin(), positions.end(), std::int64_t{0});
  layout_ = RowLayout(positions, rules);
}

// Brings the ids before, at and behind the piece's positions into ids_: position p has id p and
// label p + 1 of BOS, tokens, EOS.
void SequenceRows::read(const Piece& piece) {
  ids_.resize(static_cast<std::size_t>(piece.length) + 1);
  std::span<std::int32_t> left = ids_;
  std::int64_t begin = piece.begin;
  if (marks_.bos.has_value()) {
    if (begin == 0) {
      left[0] = *marks_.bos;
      left = left.subspan(1);
    } else {
      --begin;
    }
  }
  const std::int64_t has = tokens_->length(piece.document) - begin;
  const auto count = std::min(left.size(), static_cast<std::size_t>(has));
  tokens_->read(piece.document, begin, left.first(count));
  // A trimmed document keeps its EOS, as those of SeqIO (append_eos_after_trim).
  const bool trimmed = trim_ && std::cmp_greater(has, count);
  ends_with_mark_ = marks_.eos.has_value() && (trimmed || count < left.size());
  if (ends_with_mark_) left.back() = *marks_.eos;
}

void SequenceRows::fill(const Row& row, std::size_t at, Fields& fields) {
  layout_.pieces_of(row.row, pieces_);
  std::int32_t segment = 0;
  for (const Piece& piece : pieces_) {
    read(piece);
    ++segment;
    // Label i of the piece is the document's token first_label + i.
    const std::int64_t first_label = piece.begin + (marks_.bos.has_value() ? 0 : 1);
    const std::int64_t inputs = tokens_->inputs(piece.document) - first_label;
    for (std::size_t i = 0; i + 1 < ids_.size(); ++i, ++at) {
      fields.id[at] = ids_[i];
      fields.label[at] = ids_[i + 1];
      const bool is_input = std::cmp_less(i, inputs);
      fields.is_input[at] = is_input ? 1 : 0;
      const bool counts = row.real && !(is_input && inputs_.weights_on_targets_only);
      fields.weight[at] = counts ? 1 : 0;
      fields.padding[at] = 0;
      fields.segment[at] = segment;
      fields.place[at] = static_cast<std::int32_t>(i);
      const bool is_mark = ends_with_mark_ && i + 2 == ids_.size();
      if (!bytes_of_id_.empty() && !is_mark)
        fields.bytes[at] = bytes_of_id_[static_cast<std::size_t>(ids_[i + 1])];
    }
  }
}

Batch SequenceRows::batch(const std::vector<Row>& rows) {
  Fields fields({static_cast<std::int64_t>(rows.size()), seq_len_});
  for (std::size_t i = 0; i < rows.size(); ++i)
    fill(rows[i], i * static_cast<std::size_t>(seq_len_), fields);
  Batch batch = {{"ids", std::move(fields.ids)},
                 {"labels", std::move(fields.labels)},
                 {"weights", std::move(fields.weights)},
                 {"paddings", std::move(fields.paddings)},
                 {"segment_ids", std::move(fields.segment_ids)},
                 {"segment_pos", std::move(fields.segment_pos)}};
  if (!bytes_of_id_.empty()) batch.set("label_bytes", std::move(fields.label_bytes));
  if (inputs_.indicate) batch.set("inputs_indicator", std::move(fields.inputs_indicator));
  return batch;
}

}  // namespace trivet::data

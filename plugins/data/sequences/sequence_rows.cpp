// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/sequence_rows.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "trivet/config/digest.h"
#include "trivet/extensions/passthrough.h"

namespace trivet::data {
namespace {

std::string token_text(const std::optional<std::int32_t>& token) {
  return token ? std::to_string(*token) : "none";
}

// Everything that determines the contents of rows.
std::string fingerprint_of(const SequenceRules& rules, const std::string& layout) {
  return digest(rules.tokens->fingerprint() + " " + std::to_string(rules.seq_len) + " " +
                token_text(rules.special.bos) + " " + token_text(rules.special.eos) +
                (rules.shifted ? " shifted " : " ") + layout);
}

std::string layout_text(const SequenceConfig& config) {
  std::string text = config.pack ? "packed " : "single ";
  text += config.long_documents == LongDocuments::trim ? "trimmed" : "split";
  if (config.overlap > 0) text += " overlap " + std::to_string(config.overlap);
  if (config.random_offsets) text += " random " + std::to_string(config.seed);
  return text;
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
        inputs_indicator(Tensor::host(shape, DType::i32)),
        task_ids(Tensor::host(shape, DType::i32)) {}

  Tensor ids, labels, weights, paddings, segment_ids, segment_pos, label_bytes, inputs_indicator,
      task_ids;
  std::span<std::int32_t> id = filled<std::int32_t>(ids, 0),
                          label = filled<std::int32_t>(labels, 0);
  std::span<float> weight = filled<float>(weights, 0), padding = filled<float>(paddings, 1);
  std::span<std::int32_t> segment = filled<std::int32_t>(segment_ids, 0),
                          position = filled<std::int32_t>(segment_pos, 0),
                          bytes = filled<std::int32_t>(label_bytes, 0),
                          is_input = filled<std::int32_t>(inputs_indicator, 0),
                          task = filled<std::int32_t>(task_ids, 0);
};

std::vector<std::int64_t> SequenceRules::positions() const {
  const std::int64_t more = (special.bos.has_value() ? 1 : 0) + (special.eos.has_value() ? 1 : 0) -
                            // Of n tokens n - 1 have a token before them.
                            (shifted ? 1 : 0);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(tokens->documents()));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t length = tokens->length(static_cast<std::int64_t>(i));
    positions[i] = length == 0 ? 0 : length + more;
  }
  return positions;
}

SequenceRows::SequenceRows(SequenceRules rules, const SequenceConfig& config)
    : rules_(std::move(rules)),
      trim_(config.long_documents == LongDocuments::trim),
      layout_(rules_.positions(),
              RowLayout::Rules{rules_.seq_len, config.pack, trim_, config.overlap}),
      fingerprint_(fingerprint_of(rules_, layout_text(config))) {}

SequenceRows::SequenceRows(SequenceRules rules, const std::vector<std::int64_t>& row_ends)
    : rules_(std::move(rules)),
      trim_(true),
      layout_(rules_.positions(), rules_.seq_len, row_ends),
      fingerprint_(fingerprint_of(rules_, "in " + std::to_string(row_ends.size()) + " rows")) {}

// Reads the piece's positions into ids_: position p of BOS, tokens, EOS has id p and label p + 1,
// or label p.
void SequenceRows::read(const Piece& piece) {
  const DocumentSpecialTokens& special = rules_.special;
  ids_.resize(static_cast<std::size_t>(piece.length) + (rules_.shifted ? 1 : 0));
  std::span<std::int32_t> left = ids_;
  std::int64_t begin = piece.begin;
  if (special.bos.has_value()) {
    if (begin == 0) {
      left[0] = *special.bos;
      left = left.subspan(1);
    } else {
      --begin;
    }
  }
  const std::int64_t has = rules_.tokens->length(piece.document) - begin;
  const auto count = std::min(left.size(), static_cast<std::size_t>(has));
  rules_.tokens->read(piece.document, begin, left.first(count));
  // A trimmed document keeps its EOS, as in SeqIO (append_eos_after_trim).
  const bool trimmed = trim_ && std::cmp_greater(has, count) && !left.empty();
  ends_with_special_token_ = special.eos.has_value() && (trimmed || count < left.size());
  if (ends_with_special_token_) left.back() = *special.eos;
}

std::int64_t SequenceRows::offset_in(std::int64_t epoch) const {
  if (!rules_.random_offsets || epoch == 0) return 0;
  std::uint32_t bits[2];
  random_bits(rules_.random_offsets->fold(static_cast<std::uint64_t>(epoch)), 0, bits);
  const std::uint64_t drawn = std::uint64_t{bits[0]} << 32 | bits[1];
  return static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(layout_.positions()));
}

void SequenceRows::fill(const Row& row, std::size_t at, Fields& fields) {
  layout_.pieces_of(row.row, offset_in(row.epoch), pieces_);
  const std::size_t shift = rules_.shifted ? 1 : 0;
  std::int32_t segment = 0;
  for (const Piece& piece : pieces_) {
    read(piece);
    ++segment;
    // Label i of the piece is the document's token first_label + i.
    const std::int64_t first_label =
        piece.begin + std::ssize(ids_) - piece.length - (rules_.special.bos.has_value() ? 1 : 0);
    const std::int32_t task = rules_.tokens->task(piece.document);
    const std::int64_t inputs = rules_.tokens->inputs(piece.document) - first_label;
    const std::int64_t unweighted = rules_.tokens->unweighted(piece.document) - first_label;
    for (std::size_t i = 0; i + shift < ids_.size(); ++i, ++at) {
      const std::int32_t label = ids_[i + shift];
      const bool is_unweighted = std::cmp_less(i, unweighted);
      // An id is the label of the position before it.
      const bool id_is_input = std::cmp_less(i, inputs + static_cast<std::int64_t>(shift));
      const bool counts = row.real && std::cmp_greater_equal(i, piece.repeated) &&
                          !(is_unweighted && rules_.weights_on_targets_only);
      const bool is_special = ends_with_special_token_ && i + shift + 1 == ids_.size();
      fields.id[at] = ids_[i];
      fields.label[at] = label;
      fields.weight[at] = counts ? 1 : 0;
      fields.padding[at] = 0;
      fields.segment[at] = segment;
      fields.position[at] = static_cast<std::int32_t>(i);
      fields.is_input[at] = id_is_input ? 1 : 0;
      fields.task[at] = task;
      if (!rules_.bytes_of_id.empty() && !is_special) {
        fields.bytes[at] = rules_.bytes_of_id[static_cast<std::size_t>(label)];
      }
    }
  }
}

std::vector<std::string> SequenceRows::feature_of(std::span<const Row> rows, std::size_t feature) {
  std::vector<std::string> texts;
  for (const Row& row : rows) {
    layout_.pieces_of(row.row, 0, pieces_);
    texts.push_back(rules_.tokens->features(pieces_.front().document)[feature]);
  }
  return texts;
}

Batch SequenceRows::batch(std::span<const Row> rows) {
  Fields fields({std::ssize(rows), rules_.seq_len});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fill(rows[i], i * static_cast<std::size_t>(rules_.seq_len), fields);
  }
  Batch batch = {{"ids", std::move(fields.ids)},
                 {"labels", std::move(fields.labels)},
                 {"weights", std::move(fields.weights)},
                 {"paddings", std::move(fields.paddings)},
                 {"segment_ids", std::move(fields.segment_ids)},
                 {"segment_pos", std::move(fields.segment_pos)}};
  if (!rules_.bytes_of_id.empty()) batch.set("label_bytes", std::move(fields.label_bytes));
  if (rules_.indicate_inputs) batch.set("inputs_indicator", std::move(fields.inputs_indicator));
  if (rules_.add_task_ids) batch.set("task_ids", std::move(fields.task_ids));
  for (std::size_t i = 0; i < rules_.features.size(); ++i) {
    batch.set(std::string(kPassthrough) + "/" + rules_.features[i],
              passthrough_texts(feature_of(rows, i)));
  }
  return batch;
}

}  // namespace trivet::data

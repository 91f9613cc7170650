// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/next_sentence_rows.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trivet/config/digest.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

std::int64_t special_tokens(const SequenceRules& rules) {
  return (rules.special.bos ? 1 : 0) + (rules.special.eos ? 2 : 0);
}

std::int64_t windows(std::int64_t tokens, std::int64_t room) {
  return tokens < 2 ? 0 : (tokens + room - 1) / room;
}

// Integers in [0, n) from 64 random bits each.
class SpanDraws {
 public:
  explicit SpanDraws(RngKey key) { random_bits(key, 0, bits_); }
  std::int64_t below(std::int64_t n) {
    const std::uint64_t drawn = std::uint64_t{bits_[at_]} << 32 | bits_[at_ + 1];
    at_ += 2;
    return static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint32_t bits_[8];
  std::size_t at_ = 0;
};

}  // namespace

struct NextSentenceRows::Fields {
  explicit Fields(const Shape& shape)
      : ids(Tensor::host(shape, DType::i32)),
        weights(Tensor::host(shape)),
        paddings(Tensor::host(shape)),
        segment_ids(Tensor::host(shape, DType::i32)),
        segment_pos(Tensor::host(shape, DType::i32)),
        token_type_ids(Tensor::host(shape, DType::i32)),
        label_bytes(Tensor::host(shape, DType::i32)) {}

  Tensor ids, weights, paddings, segment_ids, segment_pos, token_type_ids, label_bytes;
  std::span<std::int32_t> id = filled<std::int32_t>(ids, 0);
  std::span<float> weight = filled<float>(weights, 0), padding = filled<float>(paddings, 1);
  std::span<std::int32_t> segment = filled<std::int32_t>(segment_ids, 0),
                          position = filled<std::int32_t>(segment_pos, 0),
                          type = filled<std::int32_t>(token_type_ids, 0),
                          bytes = filled<std::int32_t>(label_bytes, 0);
};

NextSentenceRows::NextSentenceRows(SequenceRules rules, std::int64_t seed, const std::string& input)
    : rules_(std::move(rules)),
      key_(RngKey(static_cast<std::uint64_t>(seed)).fold("next sentence")),
      room_(rules_.seq_len - special_tokens(rules_)),
      fingerprint_(
          digest(rules_.tokens->fingerprint() + " next sentence " + std::to_string(rules_.seq_len) +
                 " " + (rules_.special.bos ? std::to_string(*rules_.special.bos) : "none") + " " +
                 (rules_.special.eos ? std::to_string(*rules_.special.eos) : "none"))) {
  if (room_ < 2) {
    throw InputError(input + ".seq_len: is " + std::to_string(rules_.seq_len) +
                         ", which leaves no room for two sentences next to " +
                         std::to_string(special_tokens(rules_)) + " special tokens",
                     {.hint = "make it larger"});
  }
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < rules_.tokens->documents(); ++i) {
    const std::int64_t tokens = rules_.tokens->length(i);
    if (tokens > 0) documents_.push_back(i);
    rows += windows(tokens, room_);
    row_ends_.push_back(rows);
  }
  if (documents_.size() < 2) {
    throw InputError(input + ".next_sentence: needs two documents with tokens, and there are " +
                         std::to_string(documents_.size()),
                     {.hint = "the sentences that do not follow are of another document; "
                              "documents = \"line\" of data/TextFiles makes a document of each "
                              "line"});
  }
}

NextSentenceRows::Span NextSentenceRows::window(std::int64_t row) const {
  const auto document = std::ranges::upper_bound(row_ends_, row) - row_ends_.begin();
  const std::int64_t first = document == 0 ? 0 : row_ends_[static_cast<std::size_t>(document - 1)];
  const std::int64_t tokens = rules_.tokens->length(document);
  const std::int64_t begin = std::min((row - first) * room_, tokens - 2);
  return {document, begin, std::min(room_, tokens - begin)};
}

NextSentenceRows::Pair NextSentenceRows::pair(const Row& row) const {
  SpanDraws draws(
      key_.fold(static_cast<std::uint64_t>(row.epoch)).fold(static_cast<std::uint64_t>(row.row)));
  const Span all = window(row.row);
  const std::int64_t length = 1 + draws.below(all.length - 1);
  Pair pair{.a = {all.document, all.begin, length},
            .b = {all.document, all.begin + length, all.length - length}};
  pair.is_next = draws.below(2) == 0;
  if (pair.is_next) return pair;
  std::int64_t other = draws.below(std::ssize(documents_) - 1);
  const auto own = std::ranges::lower_bound(documents_, all.document) - documents_.begin();
  if (other >= own) ++other;
  pair.b.document = documents_[static_cast<std::size_t>(other)];
  const std::int64_t tokens = rules_.tokens->length(pair.b.document);
  pair.b.length = std::min(pair.b.length, tokens);
  pair.b.begin = draws.below(tokens - pair.b.length + 1);
  return pair;
}

std::size_t NextSentenceRows::write(const Span& span, std::size_t at, std::int32_t type, bool real,
                                    Fields& fields) const {
  const auto length = static_cast<std::size_t>(span.length);
  rules_.tokens->read(span.document, span.begin, fields.id.subspan(at, length));
  std::size_t end = at + length;
  if (!rules_.bytes_of_id.empty()) {
    for (std::size_t i = at; i < end; ++i) {
      fields.bytes[i] = rules_.bytes_of_id[static_cast<std::size_t>(fields.id[i])];
    }
  }
  if (rules_.special.eos) fields.id[end++] = *rules_.special.eos;
  std::ranges::fill(fields.weight.subspan(at, end - at), real ? 1.0F : 0.0F);
  std::ranges::fill(fields.type.subspan(at, end - at), type);
  return end;
}

Batch NextSentenceRows::batch(std::span<const Row> rows) {
  Fields fields({std::ssize(rows), rules_.seq_len});
  Tensor labels = Tensor::host({std::ssize(rows)}, DType::i32);
  const auto label = filled<std::int32_t>(labels, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Pair drawn = pair(rows[i]);
    const std::size_t begin = i * static_cast<std::size_t>(rules_.seq_len);
    std::size_t at = begin;
    if (rules_.special.bos) {
      fields.id[at] = *rules_.special.bos;
      fields.weight[at++] = rows[i].real ? 1.0F : 0.0F;
    }
    at = write(drawn.a, at, 0, rows[i].real, fields);
    at = write(drawn.b, at, 1, rows[i].real, fields);
    label[i] = drawn.is_next ? 0 : 1;
    for (std::size_t position = begin; position < at; ++position) {
      fields.padding[position] = 0;
      fields.segment[position] = 1;
      fields.position[position] = static_cast<std::int32_t>(position - begin);
    }
  }
  Tensor same = Tensor::host(fields.ids.shape(), DType::i32);
  std::ranges::copy(fields.id, same.mutable_span<std::int32_t>().begin());
  Batch batch = {{"ids", std::move(fields.ids)},
                 {"labels", std::move(same)},
                 {"weights", std::move(fields.weights)},
                 {"paddings", std::move(fields.paddings)},
                 {"segment_ids", std::move(fields.segment_ids)},
                 {"segment_pos", std::move(fields.segment_pos)},
                 {"token_type_ids", std::move(fields.token_type_ids)},
                 {"next_sentence_label", std::move(labels)}};
  if (!rules_.bytes_of_id.empty()) batch.set("label_bytes", std::move(fields.label_bytes));
  return batch;
}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
#include "data/labeled/labeled_rows.h"

#include <algorithm>
#include <numeric>

#include "trivet/error.h"

namespace trivet::data {
namespace {

std::optional<std::int32_t> check_token(const std::optional<std::int32_t>& wish, const char* name,
                                        const std::optional<std::int32_t>& otherwise,
                                        const Tokenizer& tokenizer, const std::string& field) {
  if (wish && *wish >= tokenizer.vocabulary_size()) {
    throw InputError(field + ": is " + std::to_string(*wish) + ", but the largest id is " +
                     std::to_string(tokenizer.vocabulary_size() - 1));
  }
  if (wish) return wish;
  const std::optional<std::int32_t> named = tokenizer.token_id(name);
  return named ? named : otherwise;
}

}  // namespace

void LabeledConfig::validate(Diagnostics& diagnostics) const {
  InputConfig::validate(diagnostics);
  for (auto name = class_names.begin(); name != class_names.end(); ++name) {
    if (std::find(class_names.begin(), name, *name) != name) {
      diagnostics.add("class_names", "has '" + *name + "' twice");
    }
  }
}

TextSpecialTokens text_special_tokens(const EncoderRowsConfig& config, const Tokenizer& tokenizer,
                                      const std::string& input) {
  return {check_token(config.cls_id, "[CLS]", tokenizer.bos_id(), tokenizer, input + ".cls_id"),
          check_token(config.sep_id, "[SEP]", tokenizer.eos_id(), tokenizer, input + ".sep_id")};
}

void check_room(const EncoderRowsConfig& config, std::int64_t special, const std::string& input) {
  if (config.seq_len > special) return;
  throw InputError(input + ".seq_len: is " + std::to_string(config.seq_len) +
                       ", which leaves no room for text next to " + std::to_string(special) +
                       " special tokens",
                   {.hint = "make it larger"});
}

std::int32_t class_named(std::string_view text, const std::vector<std::string>& names,
                         const std::string& location) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<std::int32_t>(found - names.begin());
  throw InputError(location + ": '" + std::string(text) + "' is not in class_names",
                   {.hint = suggestion(text, names)});
}

Batch LabeledRows::batch(std::span<const Row> rows) {
  const Shape shape{std::ssize(rows), seq_len_};
  Tensor ids = Tensor::host(shape, DType::i32), paddings = Tensor::host(shape),
         segment_ids = Tensor::host(shape, DType::i32),
         segment_pos = Tensor::host(shape, DType::i32);
  const auto id = filled<std::int32_t>(ids, 0), segment = filled<std::int32_t>(segment_ids, 0),
             location = filled<std::int32_t>(segment_pos, 0);
  const auto padding = filled<float>(paddings, 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t at = i * static_cast<std::size_t>(seq_len_);
    const auto length = static_cast<std::size_t>(tokens_->length(rows[i].row));
    tokens_->read(rows[i].row, 0, id.subspan(at, length));
    std::ranges::fill(padding.subspan(at, length), 0.0F);
    std::ranges::fill(segment.subspan(at, length), 1);
    const auto locations = location.subspan(at, length);
    std::iota(locations.begin(), locations.end(), 0);
  }
  return {{"ids", std::move(ids)},
          {"paddings", std::move(paddings)},
          {"segment_ids", std::move(segment_ids)},
          {"segment_pos", std::move(segment_pos)}};
}

}  // namespace trivet::data

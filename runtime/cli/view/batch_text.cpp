// SPDX-License-Identifier: Apache-2.0
#include "cli/view/batch_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trivet {
namespace {

constexpr std::size_t kShownNumbers = 8;

template <class T>
std::vector<T> row_of(const Tensor& tensor, std::int64_t row) {
  const auto width = static_cast<std::size_t>(tensor.size() / tensor.dim(0));
  const std::vector<T> all = tensor.to_host<T>();
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(width) * row;
  return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

template <class T>
std::string numbers_text(const std::vector<T>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kShownNumbers); ++i)
    text += fmt::format("{}{:.4g}", i == 0 ? "" : " ", static_cast<double>(numbers[i]));
  if (numbers.size() <= kShownNumbers) return text;
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  return text + fmt::format(" ...  ({} numbers from {:.4g} to {:.4g})", numbers.size(),
                            static_cast<double>(*low), static_cast<double>(*high));
}

std::string field_text(const Tensor& tensor, std::int64_t row) {
  switch (tensor.dtype()) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      return numbers_text(row_of<float>(tensor, row));
    case DType::i32:
      return numbers_text(row_of<std::int32_t>(tensor, row));
    default:
      return "(" + std::string(name_of(tensor.dtype())) + ")";
  }
}

// The target sequence if the batch has one, else the source.
const Tensor* tokens_of(const Batch& batch, const std::string& prefix) {
  const Tensor* labels = batch.find(prefix + "labels");
  const Tensor* tokens = labels != nullptr ? labels : batch.find(prefix + "ids");
  const bool fits = tokens != nullptr && tokens->rank() == 2 && tokens->dtype() == DType::i32;
  return fits ? tokens : nullptr;
}

// The text of each run of positions with the same segment id.
Value segment_texts(const Batch& batch, const std::string& prefix, const Tokenizer& tokenizer,
                    std::int64_t row) {
  const std::vector<std::int32_t> ids = row_of<std::int32_t>(*tokens_of(batch, prefix), row);
  std::vector<std::int32_t> segments(ids.size(), 1);
  if (const Tensor* given = batch.find(prefix + "segment_ids"))
    segments = row_of<std::int32_t>(*given, row);
  Value texts = Value::array();
  for (std::size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    while (end < ids.size() && segments[end] == segments[begin]) ++end;
    if (segments[begin] != 0)
      texts.push_back(tokenizer.decode(std::span(ids).subspan(begin, end - begin)));
  }
  return texts;
}

bool add_text(Value& row, const char* name, const Batch& batch, const std::string& prefix,
              const Tokenizer* tokenizer, std::int64_t number) {
  if (tokenizer == nullptr || tokens_of(batch, prefix) == nullptr) return false;
  row.set(name, segment_texts(batch, prefix, *tokenizer, number));
  return true;
}

// Fields that contain the tokens, or the position and weight of each token.
bool is_told_by_text(std::string_view name) {
  constexpr std::array<std::string_view, 10> kOfTokens = {
      "ids",    "labels",      "label_bytes",    "paddings",         "weights",
      "weight", "segment_ids", "token_type_ids", "inputs_indicator", "segment_pos"};
  const std::string_view last = name.substr(name.rfind('/') + 1);
  return std::ranges::find(kOfTokens, last) != kOfTokens.end();
}

bool is_padding(const Batch& batch, std::int64_t row) {
  const Tensor* weight = batch.find("weight");
  return weight != nullptr && weight->rank() == 1 && weight->dtype() == DType::f32 &&
         row_of<float>(*weight, row)[0] == 0;
}

}  // namespace

Value batch_fields(const Batch& batch) {
  Value fields = Value::array();
  for (const auto& [name, tensor] : batch)
    fields.push_back(Value::table(
        {{"name", name},
         {"shape", std::string(name_of(tensor.dtype())) + " " + tensor.shape().to_string()}}));
  return fields;
}

Value batch_rows(const Batch& batch, const TextInput* text, std::int64_t most) {
  Value rows = Value::array();
  if (batch.empty()) return rows;
  using Side = TextInput::Side;
  const std::int64_t count = batch.begin()->second.dim(0);
  for (std::int64_t i = 0; i < count && std::ssize(rows.items()) < most; ++i) {
    if (is_padding(batch, i)) continue;
    Value row = Value::table();
    bool is_string = false;
    if (text != nullptr) {
      is_string = add_text(row, "text", batch, "", text->tokenizer(Side::only), i);
      is_string |= add_text(row, "source", batch, "src/", text->tokenizer(Side::source), i);
      is_string |= add_text(row, "target", batch, "tgt/", text->tokenizer(Side::target), i);
    }
    for (const auto& [name, tensor] : batch)
      if (!(is_string && is_told_by_text(name)) && tensor.rank() > 0 && tensor.dim(0) == count)
        row.set(name, field_text(tensor, i));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "cli/view/batch_text.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

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
  for (std::size_t i = 0; i < std::min(numbers.size(), kShownNumbers); ++i) {
    text += fmt::format("{}{:.4g}", i == 0 ? "" : " ", static_cast<double>(numbers[i]));
  }
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

// The text's ids, where the batch has them.
const Tensor* ids_of(const Batch& batch, const BatchText& text) {
  const Tensor* ids = batch.find(text.ids);
  const bool fits = ids != nullptr && ids->rank() == 2 && ids->dtype() == DType::i32;
  return fits && text.tokenizer != nullptr ? ids : nullptr;
}

std::vector<BatchText> shown_texts(const Batch& batch, const TextInput* input) {
  std::vector<BatchText> texts;
  if (input != nullptr) texts = input->texts();
  std::erase_if(texts, [&](const BatchText& text) { return ids_of(batch, text) == nullptr; });
  return texts;
}

// The text of every run of positions of one segment.
Value segment_texts(const Batch& batch, const BatchText& text, std::int64_t row) {
  const std::vector<std::int32_t> ids = row_of<std::int32_t>(*ids_of(batch, text), row);
  std::vector<std::int32_t> segments(ids.size(), 1);
  if (const Tensor* given = batch.find(text.segment_ids)) {
    segments = row_of<std::int32_t>(*given, row);
  }
  Value texts = Value::array();
  for (std::size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    while (end < ids.size() && segments[end] == segments[begin]) ++end;
    if (segments[begin] != 0) {
      texts.push_back(text.tokenizer->decode(std::span(ids).subspan(begin, end - begin)));
    }
  }
  return texts;
}

bool is_told(const std::vector<BatchText>& texts, std::string_view field) {
  return std::ranges::any_of(texts, [&](const BatchText& text) {
    return field == text.ids || field == text.segment_ids ||
           std::ranges::find(text.told, field) != text.told.end();
  });
}

bool is_padding(const Batch& batch, std::int64_t row) {
  const Tensor* weight = batch.find("weight");
  return weight != nullptr && weight->rank() == 1 && weight->dtype() == DType::f32 &&
         row_of<float>(*weight, row)[0] == 0;
}

}  // namespace

Value batch_fields(const Batch& batch) {
  Value fields = Value::array();
  for (const auto& [name, tensor] : batch) {
    fields.push_back(Value::table(
        {{"name", name},
         {"shape", std::string(name_of(tensor.dtype())) + " " + tensor.shape().to_string()}}));
  }
  return fields;
}

Value batch_rows(const Batch& batch, const TextInput* input, std::int64_t most) {
  Value rows = Value::array();
  if (batch.empty()) return rows;
  const std::vector<BatchText> texts = shown_texts(batch, input);
  const std::int64_t count = batch.begin()->second.dim(0);
  for (std::int64_t i = 0; i < count && std::ssize(rows.items()) < most; ++i) {
    if (is_padding(batch, i)) continue;
    Value row = Value::table();
    for (const BatchText& text : texts) row.set(text.name, segment_texts(batch, text, i));
    for (const auto& [name, tensor] : batch) {
      if (!is_told(texts, name) && tensor.rank() > 0 && tensor.dim(0) == count) {
        row.set(name, field_text(tensor, i));
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace trivet

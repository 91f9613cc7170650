// SPDX-License-Identifier: Apache-2.0
#include "trivet/extensions/passthrough.h"

#include <algorithm>
#include <cstddef>

#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet {

Tensor passthrough_texts(std::span<const std::string> texts) {
  std::size_t width = 1;
  for (const std::string& text : texts) {
    if (text.find('\0') != std::string::npos || find_invalid_utf8(text)) {
      throw InputError("a text to pass through is not UTF-8 without NUL");
    }
    width = std::max(width, text.size());
  }
  Tensor rows = Tensor::host({std::ssize(texts), static_cast<std::int64_t>(width)}, DType::u8);
  const std::span<std::uint8_t> bytes = rows.mutable_span<std::uint8_t>();
  std::ranges::fill(bytes, std::uint8_t{0});
  for (std::size_t row = 0; row < texts.size(); ++row) {
    std::ranges::copy(texts[row], bytes.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
  return rows;
}

Value passthrough_of(const Batch& batch, std::int64_t row) {
  Value texts;
  for (const auto& [name, tensor] : batch.child(kPassthrough)) {
    if (tensor.dtype() != DType::u8 || tensor.rank() != 2 || row < 0 || row >= tensor.dim(0)) {
      throw Error("the batch's passthrough/" + name + " is not a row of bytes for each example");
    }
    const std::vector<std::uint8_t> all = tensor.to_host<std::uint8_t>();
    const auto begin = all.begin() + row * tensor.dim(1);
    const auto end = std::find(begin, begin + tensor.dim(1), std::uint8_t{0});
    texts.set(name, std::string(begin, end));
  }
  return texts;
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "trivet/extensions/text.h"

#include <cstddef>
#include <cstdint>

#include "trivet/error.h"

namespace trivet {

std::vector<std::string> ids_to_strings(const Tokenizer& tokenizer, const Tensor& ids,
                                        std::span<const std::int64_t> lengths) {
  if (ids.rank() != 2) throw Error("ids_to_strings: ids must be [rows, T], are " + ids.to_string());
  const auto rows = static_cast<std::size_t>(ids.dim(0));
  if (!lengths.empty() && lengths.size() != rows) {
    throw Error("ids_to_strings: " + std::to_string(lengths.size()) + " lengths for " +
                std::to_string(rows) + " rows");
  }
  const std::vector<std::int32_t> all = ids.to_host<std::int32_t>();
  std::vector<std::string> texts;
  texts.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t length = lengths.empty() ? ids.dim(1) : lengths[row];
    if (length < 0 || length > ids.dim(1)) {
      throw Error("ids_to_strings: length " + std::to_string(length) + " of rows of " +
                  std::to_string(ids.dim(1)));
    }
    texts.push_back(tokenizer.decode(std::span(all).subspan(
        row * static_cast<std::size_t>(ids.dim(1)), static_cast<std::size_t>(length))));
  }
  return texts;
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/text/corpus.h"

#include <cstdint>

#include "trivet/os/input_file.h"
#include "trivet/os/text_check.h"

namespace trivet::tokenizers {

std::string read_corpus(const std::filesystem::path& file) {
  std::string text = input_text(file.string(), std::uint64_t{1} << 30);
  TextCheck check(file.string(), kNoTextHint);
  check.add(text);
  check.finish();
  return text;
}

}  // namespace trivet::tokenizers

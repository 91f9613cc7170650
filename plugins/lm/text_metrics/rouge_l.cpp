// SPDX-License-Identifier: Apache-2.0
#include "lm/text_metrics/rouge_l.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "lm/text_metrics/words.h"

namespace trivet::lm {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::string plain = lower_case(text);
  for (char& c : plain) {
    const bool counts = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!counts) c = ' ';
  }
  return split_words(plain);
}

std::size_t longest_common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::size_t> lengths(b.size() + 1);  // of the words of `a` so far
  for (const std::string& word : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = std::exchange(
          lengths[j], word == b[j - 1] ? diagonal + 1 : std::max(lengths[j], lengths[j - 1]));
      diagonal = above;
    }
  }
  return lengths.back();
}

}  // namespace

double RougeL::score(std::string_view decoded, std::string_view reference) const {
  const std::vector<std::string> told = words_of(decoded), truth = words_of(reference);
  return f_measure(longest_common(told, truth), told.size(), truth.size());
}

}  // namespace trivet::lm

// SPDX-License-Identifier: Apache-2.0
// Words of texts, as the published scores of texts define them. Bytes that are not UTF-8 are kept
// as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trivet::lm {

// The parts between white space, as Python's str.split has it: also Unicode's.
std::vector<std::string> split_words(std::string_view text);

// One part for each character, white space left out.
std::vector<std::string> split_characters(std::string_view text);

// Lower case by Unicode, character by character.
std::string lower_case(std::string_view text);

// The words of a SQuAD answer (evaluate-v2.0.py, normalize_answer): lower case, without ASCII
// punctuation and without the articles a, an and the.
std::vector<std::string> squad_words(std::string_view text);

// The number of words that both have, each as often as the one with fewer of it.
std::size_t shared_words(const std::vector<std::string>& a, const std::vector<std::string>& b);

// 2 p r / (p + r) of precision p = shared / predicted and recall r = shared / true; 0 without any
// shared word.
double f_measure(std::size_t shared, std::size_t predicted, std::size_t reference);

}  // namespace trivet::lm

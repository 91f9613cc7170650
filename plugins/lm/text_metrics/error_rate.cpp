// SPDX-License-Identifier: Apache-2.0
#include "lm/text_metrics/error_rate.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "lm/text_metrics/words.h"

namespace trivet::lm {
namespace {

// Levenshtein 1966.
std::int64_t edit_distance(const std::vector<std::string>& from,
                           const std::vector<std::string>& to) {
  std::vector<std::int64_t> errors(to.size() + 1);  // of the words of `from` so far
  std::iota(errors.begin(), errors.end(), 0);
  for (const std::string& word : from) {
    std::int64_t diagonal = errors[0]++;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::int64_t replaced = diagonal + (word == to[j - 1] ? 0 : 1);
      diagonal = std::exchange(errors[j], std::min({replaced, errors[j] + 1, errors[j - 1] + 1}));
    }
  }
  return errors.back();
}

}  // namespace

ErrorRate::ErrorRate(const Config& config)
    : name_(!config.name.empty()                  ? config.name
            : config.unit == ErrorUnit::character ? "cer"
                                                  : "wer"),
      unit_(config.unit) {}

void ErrorRate::add(std::string_view decoded, std::span<const std::string> references) {
  const auto parts = [this](std::string_view text) {
    return unit_ == ErrorUnit::word ? split_words(text) : split_characters(text);
  };
  const std::vector<std::string> told = parts(decoded);
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max(), length = 0;
  for (const std::string& reference : references) {
    const std::vector<std::string> truth = parts(reference);
    const std::int64_t errors = edit_distance(truth, told);
    if (errors >= fewest) continue;
    fewest = errors;
    length = std::ssize(truth);
  }
  errors_ += fewest;
  length_ += length;
}

Logs ErrorRate::result() const {
  Logs logs;
  const double without_words = errors_ > 0 ? 1 : 0;
  logs.set(name_, length_ > 0 ? static_cast<double>(errors_) / static_cast<double>(length_)
                              : without_words);
  return logs;
}

Value ErrorRate::save_state() const {
  return Value::table({{"errors", errors_}, {"length", length_}});
}

void ErrorRate::merge(const Value& state) {
  const std::string owner = "the state of the text metric " + name_;
  errors_ += state.at("errors", owner).as_integer();
  length_ += state.at("length", owner).as_integer();
}

}  // namespace trivet::lm

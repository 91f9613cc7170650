// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/patterns.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <string>

#include "trivet/error.h"

namespace trivet {
namespace {

// The library calls itself for each character of an expression: a million of them end the stack.
constexpr std::size_t kLongestPattern = 1000;

// The expression, or what is wrong with the text.
std::optional<std::regex> compile(const std::string& text, std::string& problem) {
  if (text.size() > kLongestPattern) {
    problem = "a regular expression of " + std::to_string(text.size()) +
              " characters is longer than " + std::to_string(kLongestPattern) + "; use several";
    return std::nullopt;
  }
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    problem = "'" + text + "' is not a regular expression: " + error.what();
    return std::nullopt;
  }
}

}  // namespace

struct Patterns::Impl {
  std::vector<std::regex> expressions;
};

Patterns::Patterns(const std::vector<std::string>& texts) {
  auto impl = std::make_shared<Impl>();
  for (const std::string& text : texts) {
    std::string problem;
    auto expression = compile(text, problem);
    if (!expression) throw Error(problem);
    impl->expressions.push_back(std::move(*expression));
  }
  impl_ = std::move(impl);
}

bool Patterns::empty() const {
  return impl_->expressions.empty();
}

bool Patterns::matches(std::string_view name) const {
  return std::any_of(impl_->expressions.begin(), impl_->expressions.end(),
                     [&](const auto& e) { return std::regex_match(name.begin(), name.end(), e); });
}

bool Patterns::found_in(std::string_view name) const {
  return std::any_of(impl_->expressions.begin(), impl_->expressions.end(),
                     [&](const auto& e) { return std::regex_search(name.begin(), name.end(), e); });
}

void check_patterns(Diagnostics& diagnostics, std::string_view field,
                    const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    std::string problem;
    if (!compile(text, problem)) diagnostics.add(field, problem);
  }
}

}  // namespace trivet

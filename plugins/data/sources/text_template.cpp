// SPDX-License-Identifier: Apache-2.0
#include "data/sources/text_template.h"

#include <algorithm>

#include "trivet/error.h"

namespace trivet::data {
namespace {

std::string_view find_feature(const SourceExample& example, std::string_view name) {
  const auto found = std::ranges::find(example.features, name, &SourceExample::Feature::name);
  if (found != example.features.end()) return found->text;
  std::vector<std::string> known;
  for (const auto& has : example.features) known.emplace_back(has.name);
  throw InputError(example.location + ": the example has no feature '" + std::string(name) + "'",
                   {.hint = suggestion(name, known)});
}

}  // namespace

TextTemplate::TextTemplate(std::string_view text) {
  std::string plain;
  const auto flush = [&] {
    if (!plain.empty()) parts_.push_back({false, std::move(plain)});
    plain.clear();
  };
  while (!text.empty()) {
    const char c = text.front();
    if (c != '{' && c != '}') {
      plain += c;
      text.remove_prefix(1);
    } else if (text.size() > 1 && text[1] == c) {
      plain += c;
      text.remove_prefix(2);
    } else {
      const std::size_t end = text.find_first_of("{}", 1);
      if (c == '}' || end == std::string_view::npos || text[end] != '}' || end == 1) {
        throw Error("unbalanced brace",
                    {.hint = "write \"{name}\" for a feature, \"{{\" for a brace"});
      }
      flush();
      parts_.push_back({true, std::string(text.substr(1, end - 1))});
      text.remove_prefix(end + 1);
    }
  }
  flush();
}

std::string TextTemplate::fill(const SourceExample& example) const {
  std::string text;
  for (const Part& part : parts_) {
    text += part.is_name ? find_feature(example, part.text) : std::string_view(part.text);
  }
  return text;
}

void check_template(Diagnostics& diagnostics, std::string_view field, const std::string& text) {
  try {
    const TextTemplate checked(text);
  } catch (const Error& error) {
    diagnostics.add(field, error.message(), error.details().hint);
  }
}

}  // namespace trivet::data

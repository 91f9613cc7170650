// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/steps/replacement.h"

#include <cstddef>

#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

}  // namespace

Pattern::Pattern(const JsonPart& part) {
  if (part.is_null()) part.fail("is missing");
  part.check_fields({"String", "Regex"});
  if (part.value().size() != 1) part.fail("must be either a \"String\" or a \"Regex\"");
  if (const auto regex = part.optional_text("Regex")) {
    regex_.emplace(*regex, part.field("Regex").place());
  } else {
    literal_ = part.text("String");
  }
}

void Pattern::for_each(std::string_view text,
                       const std::function<void(Regex::Match)>& visit) const {
  if (regex_) return regex_->for_each(text, visit);
  if (literal_.empty()) return;
  for (std::size_t at = text.find(literal_); at != std::string_view::npos;
       at = text.find(literal_, at + literal_.size())) {
    visit({at, at + literal_.size()});
  }
}

Replacement::Replacement(const JsonPart& part)
    : place_(part.place()), pattern_(part.field("pattern")), content_(part.text("content")) {
  part.check_fields({"pattern", "content"});
}

std::string Replacement::apply(std::string text) const {
  std::string made;
  std::size_t from = 0;
  bool changed = false;
  pattern_.for_each(text, [&](Regex::Match match) {
    made.append(text, from, match.begin - from);
    made += content_;
    if (made.size() > kMaxBytes) {
      throw InputError(place_ + ": the text becomes longer than 1 GiB by the replacements",
                       {.hint = "use shorter texts, or a shorter \"content\""});
    }
    from = match.end;
    changed = true;
  });
  if (!changed) return text;
  return made.append(text, from, std::string::npos);
}

}  // namespace trivet::tokenizers

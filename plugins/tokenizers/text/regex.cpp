// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizers/text/regex.h"

#include <pcre2.h>

#include <array>
#include <cstdint>
#include <utility>

#include <fmt/core.h>

#include "tokenizers/text/onig_pattern.h"
#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet::tokenizers {
namespace {

// Patterns in use have up to 1 KB.
constexpr std::size_t kMaxPatternBytes = std::size_t{1} << 16;
constexpr std::uint32_t kMaxSteps = 10'000'000;
constexpr std::uint32_t kMaxKiB = 256 * 1024;

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using CompileContext = std::unique_ptr<pcre2_compile_context, Freer<&pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freer<&pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Freer<&pcre2_match_data_free>>;
using Code = std::unique_ptr<pcre2_code, Freer<&pcre2_code_free>>;

}  // namespace

struct Regex::Compiled {
  Code code;
  MatchContext context;
};

Regex::Regex(const std::string& pattern, std::string place) : place_(std::move(place)) {
  if (pattern.size() > kMaxPatternBytes) {
    throw InputError(fmt::format("{} is a regular expression of {} bytes; at most {} are allowed",
                                 place_, pattern.size(), kMaxPatternBytes),
                     {.hint = "split it into several pre-tokenizers of a Sequence"});
  }
  const std::string translated = pcre2_pattern(pattern, place_);
  const CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  std::size_t offset = 0;
  auto compiled = std::make_shared<Compiled>();
  compiled->code.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                    &offset, context.get()));
  if (!compiled->code) {
    throw InputError(
        fmt::format("{} is not a regular expression: {} at byte {} of {}", place_,
                    message_of(error), offset, translated.substr(0, 200)),
        {.hint = "trivet runs regular expressions with PCRE2; write this part in another way"});
  }
  // Without it, where the system forbids it, matches are slower and the same.
  pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);
  compiled->context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(compiled->context.get(), kMaxSteps);
  pcre2_set_heap_limit(compiled->context.get(), kMaxKiB);
  compiled_ = std::move(compiled);
}

std::optional<Regex::Match> Regex::find(std::string_view text, std::size_t from, void* data) const {
  auto* const into = static_cast<pcre2_match_data*>(data);
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(compiled_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                       text.size(), from, PCRE2_NO_UTF_CHECK | options, into,
                       compiled_->context.get());
  };
  int result = match(0);
  // The interpreter has its memory on the heap.
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match(PCRE2_NO_JIT);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) {
    throw InputError(
        fmt::format("{}: the regular expression fails at byte {} of a text of {} bytes: {}", place_,
                    from, text.size(), message_of(result)),
        {.hint = "a repetition in a repetition such as (a+)+ takes exponential time; use another "
                 "tokenizer, or shorter texts"});
  }
  const std::size_t* const bounds = pcre2_get_ovector_pointer(into);
  // \K and lookbehinds could start a match before the position.
  return Match{std::max(bounds[0], from), std::max(bounds[1], from)};
}

void Regex::for_each(std::string_view text, const std::function<void(Match)>& visit) const {
  const MatchData data(pcre2_match_data_create(1, nullptr));
  std::optional<std::size_t> last_end;
  std::size_t from = 0;
  while (from <= text.size()) {
    const auto match = find(text, from, data.get());
    if (!match) return;
    if (match->begin == match->end && last_end == match->end) {
      if (from >= text.size()) return;
      from += first_code_point(text.substr(from)).length;
      continue;
    }
    visit(*match);
    from = match->end;
    last_end = from;
  }
}

}  // namespace trivet::tokenizers

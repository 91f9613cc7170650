// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/commands/apply_commands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include <fmt/core.h>

#include "tokenizers/commands/tokenizer_choice.h"
#include "tokenizers/huggingface/unapplied_parts.h"
#include "trivet/config/arguments.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/input_file.h"

namespace trivet::tokenizers {
namespace {

constexpr OptionSpec kEncodeOptions[] = {{.name = "tokens", .doc = "Print one token per line"}};

struct Given {
  Arguments arguments;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> rest;  // after the tokenizer
  std::string name{};             // the tokenizer's
};

Given parse(std::span<const std::string> words, std::span<const OptionSpec> options,
            CommandContext& context) {
  Arguments arguments = parse_arguments(words, options);
  std::vector<std::string> rest = arguments.plain();
  if (rest.empty()) {
    throw UsageError("a tokenizer is missing",
                     {.hint = "a file such as tokenizer.json, or a key such as tokenizers/Bytes"});
  }
  auto tokenizer = chosen_tokenizer(rest.front(), context);
  std::string name = rest.front();
  rest.erase(rest.begin());
  return {std::move(arguments), std::move(tokenizer), std::move(rest), std::move(name)};
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

std::string standard_input() {
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), stdin)) {
    text.append(buffer.data(), count);
  }
  if (std::ferror(stdin) != 0) throw InputError("standard input cannot be read");
  return text;
}

// Quoted, on one line; invalid UTF-8 becomes U+FFFD.
std::string quoted_text(const std::string& text) {
  return to_json(Value(text));
}

void print_ids(const std::vector<std::int32_t>& ids) {
  std::string line;
  for (const std::int32_t id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  print(line + "\n");
}

void print_tokens(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  for (const std::int32_t id : ids) {
    print(fmt::format("{:>7}  {}\n", id, quoted_text(tokenizer.token_text(id))));
  }
}

// Ids separated by blanks or commas.
std::vector<std::int32_t> ids_of(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,";
  std::vector<std::int32_t> ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) return ids;
    const std::string_view word = text.substr(0, text.find_first_of(kBetween));
    std::int32_t id = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || stop != word.data() + word.size()) {
      throw InputError("'" + std::string(word.substr(0, 50)) + "' is not a token id");
    }
    ids.push_back(id);
    text.remove_prefix(word.size());
  }
}

std::string special_tokens(const Tokenizer& tokenizer) {
  std::string text;
  for (std::int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (!tokenizer.is_special(id)) continue;
    text += fmt::format("  {} {}", id, quoted_text(tokenizer.token_text(id)));
    if (id == tokenizer.bos_id()) text += " starts a text";
    if (id == tokenizer.eos_id()) text += id == tokenizer.bos_id() ? ", ends it" : " ends a text";
    if (id == tokenizer.pad_id()) text += " pads a text";
    if (id == tokenizer.unknown_id()) text += " is unknown";
    text += '\n';
  }
  return text.empty() ? "  none\n" : text;
}

}  // namespace

void run_encode(std::span<const std::string> words, CommandContext& context) {
  Given given = parse(words, kEncodeOptions, context);
  if (given.rest.empty()) given.rest.push_back(standard_input());
  for (const std::string& text : given.rest) {
    const std::vector<std::int32_t> ids = given.tokenizer->encode(text);
    if (given.arguments.has("tokens")) {
      print_tokens(*given.tokenizer, ids);
    } else {
      print_ids(ids);
    }
  }
}

void run_decode(std::span<const std::string> words, CommandContext& context) {
  const Given given = parse(words, {}, context);
  if (given.rest.empty()) {
    print(given.tokenizer->decode(ids_of(standard_input())));
    return;
  }
  std::string ids;
  for (const std::string& word : given.rest) ids += word + " ";
  print(given.tokenizer->decode(ids_of(ids)) + "\n");
}

void run_info(std::span<const std::string> words, CommandContext& context) {
  const Given given = parse(words, {}, context);
  const Tokenizer& tokenizer = *given.tokenizer;
  std::string report =
      fmt::format("tokens         {}\nfingerprint    {}\nspecial tokens\n{}",
                  tokenizer.vocabulary_size(), tokenizer.fingerprint(), special_tokens(tokenizer));
  for (const std::string& part : unapplied_parts(given.name)) {
    report += "not applied    " + part + "\n";
  }
  for (const std::string& file : given.rest) {
    const std::string text = input_text(file, std::uint64_t{1} << 30);
    const std::vector<std::int32_t> ids = tokenizer.encode(text);
    const double share = static_cast<double>(text.size()) / static_cast<double>(ids.size());
    report += fmt::format(
        "{}: {} bytes, {} tokens, {}, {}\n", file, text.size(), ids.size(),
        ids.empty() ? "no token" : fmt::format("{:.3f} bytes per token", share),
        tokenizer.decode(ids) == text ? "decodes to the same text" : "decodes to another text");
  }
  print(report);
}

}  // namespace trivet::tokenizers

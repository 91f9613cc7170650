// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/commands/train_command.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include <fmt/core.h>

#include "tokenizers/bpe/bpe_trainer.h"
#include "tokenizers/bpe/tokenizer_json.h"
#include "tokenizers/bpe/word_counts.h"
#include "tokenizers/simple/characters.h"
#include "tokenizers/text/corpus.h"
#include "trivet/config/arguments.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/text/utf8.h"

namespace trivet::tokenizers {
namespace {

constexpr OptionSpec kOptions[] = {
    {.name = "output", .letter = 'o', .value = "FILE", .doc = "The file for the vocabulary"},
    {.name = "type",
     .value = "TYPE",
     .doc = "bpe (the default): a tokenizer.json; characters: the text of an alphabet"},
    {.name = "vocab-size", .value = "N", .doc = "bpe: the number of all tokens"},
    {.name = "min-frequency",
     .value = "N",
     .doc = "bpe: does not merge less frequent pairs; default: 2"},
    {.name = "special",
     .value = "TOKEN",
     .doc = "bpe: a special token such as <|endoftext|>",
     .repeatable = true},
};

std::int64_t number(const Arguments& arguments, const char* name, std::int64_t otherwise) {
  const std::string* text = arguments.last(name);
  if (text == nullptr) return otherwise;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || value < 0) {
    throw UsageError(fmt::format("--{} takes a number, not '{}'", name, *text));
  }
  return value;
}

void train_bpe_file(const Arguments& arguments, const std::vector<std::string>& files,
                    const std::string& output) {
  if (!arguments.has("vocab-size")) {
    throw UsageError("--vocab-size is missing", {.hint = "for example --vocab-size 8192"});
  }
  const BpeTraining training{.vocabulary_size = number(arguments, "vocab-size", 0),
                             .min_frequency = number(arguments, "min-frequency", 2),
                             .special_tokens = arguments.all("special")};
  check_training(training);
  WordCounts words(training.special_tokens);
  for (const std::string& file : files) words.add_file(file);
  const auto counts = words.sorted();
  if (counts.empty()) throw InputError("there is no text to train on: the files are empty");
  const BpeVocabulary vocabulary = train_bpe(counts, training);
  replace_file(output, tokenizer_json_text(vocabulary));
  fmt::print("{}: {} tokens from {} bytes, {} different words\n", output, vocabulary.tokens.size(),
             words.bytes(), counts.size());
  if (std::ssize(vocabulary.tokens) < training.vocabulary_size) {
    fmt::print("fewer than {}: no other pair occurs {} times\n", training.vocabulary_size,
               std::max<std::int64_t>(training.min_frequency, 1));
  }
}

void write_alphabet(const Arguments& arguments, const std::vector<std::string>& files,
                    const std::string& output) {
  for (const char* name : {"vocab-size", "min-frequency", "special"}) {
    if (arguments.has(name)) {
      throw UsageError(fmt::format("--{} needs --type bpe: an alphabet has all characters", name));
    }
  }
  std::string all;
  for (const std::string& file : files) {
    for (const char32_t character : distinct_characters(read_corpus(file))) {
      append_utf8(character, all);
    }
  }
  const std::vector<char32_t> characters = distinct_characters(all);
  if (characters.empty()) throw InputError("the files have no characters");
  std::string alphabet;
  for (const char32_t character : characters) append_utf8(character, alphabet);
  replace_file(output, alphabet);
  fmt::print("{}: {} characters\n", output, characters.size());
}

}  // namespace

std::string train_options_text() {
  return options_text(kOptions);
}

void run_train(std::span<const std::string> words, CommandContext&) {
  const Arguments arguments = parse_arguments(words, kOptions);
  const std::vector<std::string> files = arguments.plain();
  const std::string* output = arguments.last("output");
  if (output == nullptr) throw UsageError("--output FILE is missing");
  if (files.empty()) throw UsageError("no text file to train on");
  const std::string* type = arguments.last("type");
  if (type == nullptr || *type == "bpe") {
    train_bpe_file(arguments, files, *output);
  } else if (*type == "characters") {
    write_alphabet(arguments, files, *output);
  } else {
    throw UsageError("there is no --type '" + *type + "'", {.hint = "known: bpe, characters"});
  }
}

}  // namespace trivet::tokenizers

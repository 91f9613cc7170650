// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/commands/tokenizer_command.h"

#include <algorithm>
#include <cstdio>

#include "tokenizers/commands/apply_commands.h"
#include "tokenizers/commands/train_command.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

struct Action {
  const char* name;
  void (*run)(std::span<const std::string> words, CommandContext& context);
};
constexpr Action kActions[] = {
    {"train", &run_train}, {"encode", &run_encode}, {"decode", &run_decode}, {"info", &run_info}};

std::string manual() {
  return R"(usage: trivet tokenizer train [OPTIONS] --output FILE TEXTFILE ...
       trivet tokenizer encode [--tokens] TOKENIZER [TEXT ...]
       trivet tokenizer decode TOKENIZER [ID ...]
       trivet tokenizer info TOKENIZER [TEXTFILE ...]

Makes tokenizers, and shows what they do.

TOKENIZER is
  a file              tokenizer.json, or the .model of SentencePiece
  a folder            with tokenizer.json, or GPT-2's vocab.json and merges.txt
  a key               tokenizers/Bytes
  a table of JSON     '{"type": "tokenizers/Characters", "files": ["corpus.txt"]}'
  a location in a config configs/lm.toml:task.train_input.tokenizer; without a location the only
                      tokenizer in it

train learns a vocabulary from text files:
)" + train_options_text() +
         R"(
encode prints the ids of each TEXT in a line, or those of standard input; with --tokens a line
for each token. decode prints the text of IDs, or of those on standard input: then without a line
end, so that 'encode | decode' gives the same bytes. A TEXT that begins with '-' stands behind '--'.
info prints size, special tokens and fingerprint, and for each TEXTFILE how many bytes a token has.
)";
}

const Action& action_of(std::span<const std::string> words) {
  if (words.empty())
    throw UsageError("'trivet tokenizer' needs to know what to do",
                     {.hint = "train, encode, decode or info; trivet help tokenizer"});
  std::vector<std::string> names;
  for (const Action& action : kActions) {
    if (action.name == words[0]) return action;
    names.emplace_back(action.name);
  }
  throw UsageError("'trivet tokenizer' cannot '" + words[0] + "'",
                   {.hint = suggestion(words[0], names)});
}

bool asks_for_help(std::span<const std::string> words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end,
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

}  // namespace

int TokenizerCommand::run(std::span<const std::string> words) {
  if (asks_for_help(words)) {
    std::fputs(manual().c_str(), stdout);
  } else {
    action_of(words).run(words.subspan(1), context_);
  }
  return 0;
}

}  // namespace trivet::tokenizers

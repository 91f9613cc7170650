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

Trains, applies and describes tokenizers.

TOKENIZER is
  a file              tokenizer.json, or the .model of SentencePiece
  a folder            with tokenizer.json, or GPT-2's vocab.json and merges.txt
  a key               tokenizers/Bytes
  a table of JSON     '{"type": "tokenizers/Characters", "files": ["corpus.txt"]}'
  a location in a config configs/lm.toml:task.train_input.tokenizer; without a location, the only
                      tokenizer in the file

train makes a vocabulary from text files:
)" + train_options_text() +
         R"(
encode prints the ids of each TEXT, or of standard input, on one line; with --tokens one line per
token. decode prints the text of IDs, or of ids on standard input. In the latter case it adds no
line end, so that 'encode | decode' restores the same bytes. Put '--' before a TEXT that begins
with '-'. info prints size, special tokens and fingerprint, and the bytes per token of each TEXTFILE.
)";
}

const Action& action_of(std::span<const std::string> words) {
  if (words.empty()) {
    throw UsageError("'trivet tokenizer' needs to know what to do",
                     {.hint = "train, encode, decode or info; trivet help tokenizer"});
  }
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

// The words name the files, so bad input is a wrong command line.
void TokenizerCommand::run_action(std::span<const std::string> words) {
  try {
    action_of(words).run(words.subspan(1), context_);
  } catch (const InputError& failure) {
    throw UsageError(failure.message(), failure.details());
  }
}

int TokenizerCommand::run(std::span<const std::string> words) {
  if (asks_for_help(words)) {
    std::fputs(manual().c_str(), stdout);
  } else {
    run_action(words);
  }
  return 0;
}

}  // namespace trivet::tokenizers

// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/tokens_input.h"

#include <algorithm>
#include <utility>

#include "data/formats/decompressed_limit.h"
#include "data/formats/file_list.h"
#include "data/formats/token_file.h"
#include "data/tokens/mapped_tokens.h"
#include "data/tokens/tokenize.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// All files must use one tokenizer, or ids would have two meanings.
void check_same(const TokenFile& first, const TokenFile& other) {
  const TokenFileHeader &a = first.header(), &b = other.header();
  if (a.tokenizer == b.tokenizer && a.vocabulary_size == b.vocabulary_size && a.bos == b.bos &&
      a.eos == b.eos) {
    return;
  }
  throw InputError(other.name() + ": was made with another tokenizer than " + first.name(),
                   {.hint = "use files of one tokenizer only"});
}

void check_tokenizer(const TokenFile& file, const Tokenizer& tokenizer) {
  const TokenFileHeader& header = file.header();
  if (header.tokenizer.empty() || header.tokenizer == tokenizer.fingerprint()) return;
  throw InputError(
      file.name() + ": was made with another tokenizer than the config's (" +
          std::to_string(header.vocabulary_size) + " tokens, here " +
          std::to_string(tokenizer.vocabulary_size()) + ")",
      {.hint = "make the file again with 'trivet data prepare', or name its tokenizer"});
}

std::int64_t smallest_known(std::initializer_list<std::int64_t> sizes) {
  std::int64_t smallest = 0;
  for (const std::int64_t size : sizes) {
    if (size > 0 && (smallest == 0 || size < smallest)) smallest = size;
  }
  return smallest;
}

// Fills special tokens that the config leaves unset from the file's header.
SequenceConfig with_special_tokens(const TokensConfig& config, const TokenFileHeader& header) {
  SequenceConfig known = config;
  if (header.has_index) {
    if (!known.bos_id) known.bos_id = header.bos;
    if (!known.eos_id) known.eos_id = header.eos;
  }
  // The ids include special tokens already, or trivet's file was made without them.
  if (!known.add_bos) known.add_bos = header.has_index && known.bos_id.has_value();
  if (!known.add_eos) known.add_eos = header.has_index && known.eos_id.has_value();
  return known;
}

}  // namespace

struct TokensInput::Files {
  Files(const TokensConfig& config, const InputContext& context) {
    const std::vector<std::string> names = list_files(config.files);
    name = summary_of(names);
    DecompressedLimit together(name, static_cast<std::uint64_t>(config.limit.count));
    for (const std::string& file : names) {
      open->emplace_back(file, config.layout, together.of_one());
      together.add(open->back().decompressed());
      check_same(open->front(), open->back());
    }
    const TokenFileHeader& header = open->front().header();
    sequence = with_special_tokens(config, header);
    tokenizer = tokenizer_of(config.tokenizer, context);
    if (tokenizer) check_tokenizer(open->front(), *tokenizer);
    vocabulary_size = smallest_known(
        {config.vocab_size, header.vocabulary_size, tokenizer ? tokenizer->vocabulary_size() : 0});
  }

  std::shared_ptr<std::vector<TokenFile>> open = std::make_shared<std::vector<TokenFile>>();
  std::string name;
  SequenceConfig sequence;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int64_t vocabulary_size = 0;
};

TokensInput::TokensInput(const Config& config, InputContext& context)
    : TokensInput(config, context, Files(config, context)) {}

TokensInput::TokensInput(const Config& config, InputContext& context, const Files& files)
    : SequenceInput(files.sequence, context, files.name, {files.tokenizer, files.vocabulary_size},
                    [open = files.open, size = files.vocabulary_size, end = config.document_end,
                     verify = config.verify]() -> std::shared_ptr<const TokenStore> {
                      return std::make_shared<MappedTokens>(std::move(*open), end, size, verify);
                    },
                    {}) {}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
// tokenizers/Bert: the WordPiece tokenizer of BERT from its vocab.txt, which has a token in each
// line; the line's number, from 0, is the id (Devlin et al. 2018; Model Garden's BertTokenizer).
//
//   tokenizer = { type = "tokenizers/Bert", file = "vocab.txt" }
//
// It is tokenizers/HuggingFace with the parts that the Hugging Face libraries have for such a file:
// BERT's normalizer and pre-tokenizer, and words of more than 100 characters are [UNK]. [PAD],
// [UNK], [CLS], [SEP] and [MASK] are special tokens where the file has them; it must have [UNK].
#pragma once

#include "tokenizers/huggingface/hugging_face.h"

namespace trivet::tokenizers {

struct BertConfig : SpecialTokensConfig {
  Path file;
  bool lower_case = true;
  bool match_special_tokens = true;
};
TRIVET_CONFIG(BertConfig, SpecialTokensConfig,
              (file, "A vocab.txt of BERT: a token in each line.", required),
              (lower_case, "Makes text lower case, and removes accents."),
              (match_special_tokens,
               "Turns the spelling of a special token in a text into that token. If false, it is "
               "plain text."))

class Bert final : public HuggingFace {
 public:
  using Config = BertConfig;
  // Throws InputError, with the line, for an empty or a repeated token and for text that is not
  // UTF-8.
  explicit Bert(const Config& config);
};

}  // namespace trivet::tokenizers

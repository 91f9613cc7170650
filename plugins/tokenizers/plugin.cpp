// SPDX-License-Identifier: Apache-2.0
// The plugin "tokenizers": converts text to token ids and back.
#include "trivet/plugin.h"

#include "tokenizers/bpe/bpe.h"
#include "tokenizers/commands/tokenizer_command.h"
#include "tokenizers/huggingface/bert.h"
#include "tokenizers/huggingface/hugging_face.h"
#include "tokenizers/simple/bytes.h"
#include "tokenizers/simple/characters.h"

namespace tokenizers = trivet::tokenizers;

TRIVET_PLUGIN(
    ({.name = "tokenizers",
      .version = "1.0.0",
      .license = "Apache-2.0",
      .doc = "Text to token ids and back."}),
    trivet::tokenizer<tokenizers::Bytes>("Bytes", "Tokenizer with one token per byte."),
    trivet::tokenizer<tokenizers::Characters>(
        "Characters", "Tokenizer with one token per character of an alphabet."),
    trivet::tokenizer<tokenizers::Bpe>("Bpe", "Byte-level byte pair encoding, as in GPT-2."),
    trivet::tokenizer<tokenizers::Bert>("Bert", "WordPiece of a vocab.txt, as in BERT."),
    trivet::tokenizer<tokenizers::HuggingFace>(
        "HuggingFace", "A tokenizer.json: BPE, WordPiece, Unigram or whole words."),
    trivet::command<tokenizers::TokenizerCommand>("tokenizer",
                                                  "Trains tokenizers, and shows what they do"))

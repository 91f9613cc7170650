// SPDX-License-Identifier: Apache-2.0
// tokenizer.json, the file of Hugging Face's tokenizers library, for byte-level BPE: "model" of
// type BPE, pre-tokenizer and decoder ByteLevel.
//
// What would change ids or text and is not understood here is refused: normalizers, other
// pre-tokenizers, dropout, prefixes and suffixes of words, byte_fallback, added tokens that are
// whole words only or take the blanks beside them. "post_processor", "truncation" and "padding" say
// what is done with the ids of a text, which is not a tokenizer's business here: they are ignored.
#pragma once

#include <string>
#include <string_view>

#include "tokenizers/bpe/bpe_vocabulary.h"

namespace trivet::tokenizers {

// Throws InputError, which begins with `source`.
BpeVocabulary read_tokenizer_json(std::string_view text, const std::string& source);

// The whole file, with all fields that the library's own have; reads back to the same vocabulary.
std::string tokenizer_json_text(const BpeVocabulary& vocabulary);

}  // namespace trivet::tokenizers

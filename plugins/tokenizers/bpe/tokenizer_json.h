// SPDX-License-Identifier: Apache-2.0
// tokenizer.json, the file of Hugging Face's tokenizers library, for byte-level BPE: "model" of
// type BPE, pre-tokenizer and decoder ByteLevel.
//
// Unsupported features that would change ids or text are errors: normalizers, other pre-tokenizers,
// dropout, prefixes and suffixes of words, byte_fallback, added tokens that match whole words only
// or strip adjacent blanks. "post_processor", "truncation" and "padding" only process the ids of a
// text and are ignored.
#pragma once

#include <string>
#include <string_view>

#include "tokenizers/bpe/bpe_vocabulary.h"

namespace trivet::tokenizers {

// Throws InputError, which starts with `source`.
BpeVocabulary read_tokenizer_json(std::string_view text, const std::string& source);

// Returns the whole file, with all fields of the library's files. Reading it returns the same
// vocabulary.
std::string tokenizer_json_text(const BpeVocabulary& vocabulary);

}  // namespace trivet::tokenizers

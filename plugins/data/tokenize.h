// SPDX-License-Identifier: Apache-2.0
// From texts to token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "text_source.h"
#include "token_store.h"
#include "trivet/tokenizer.h"

namespace trivet::data {

// The ids of a text. Throws InputError with `place` for what the tokenizer refuses, and for ids
// outside its vocabulary, which would read and write beside the tables of a model.
std::vector<std::int32_t> encode_checked(const Tokenizer& tokenizer, std::string_view text,
                                         const std::string& place);

// All texts of a source, each a document.
std::unique_ptr<MemoryTokens> tokenize(TextSource& source, const Tokenizer& tokenizer);

// How many bytes of text each id stands for; special tokens stand for none.
std::vector<std::int32_t> bytes_of_ids(const Tokenizer& tokenizer);

}  // namespace trivet::data

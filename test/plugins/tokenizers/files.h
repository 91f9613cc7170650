// SPDX-License-Identifier: Apache-2.0
// Tokenizers for tests, from generated files and made through the plugin as in a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/plugins.h"
#include "support/shell.h"
#include "trivet/plugin/registry.h"
#include "trivet/tokenizer.h"

namespace trivet::test {

inline std::unique_ptr<Tokenizer> make_tokenizer(const std::string& key,
                                                 const Value& fields = Value::table()) {
  use_plugin(key.substr(0, key.find('/')));
  return make<Tokenizer>(ConfigOf<Tokenizer>(key, fields));
}

inline std::unique_ptr<Tokenizer> bpe_of(const std::filesystem::path& file) {
  return make_tokenizer("tokenizers/Bpe", Value::table({{"file", file.string()}}));
}

// The character that GPT-2's files write for a byte, in UTF-8 (encoder.py, bytes_to_unicode).
std::string gpt2_character(int byte);

using Merges = std::vector<std::pair<std::string, std::string>>;

// A tokenizer.json: the 256 bytes with their values as ids, one token for each merge from 256 on,
// then the special tokens. The parts of merges are plain ASCII, blanks aside.
std::string tokenizer_json(const Merges& merges, const std::vector<std::string>& special = {});

// Difficult byte strings: empty, blanks, contractions, every class of characters, partial
// characters.
std::vector<std::string> hard_texts();

// Every file under /usr/share/common-licenses, with its name.
std::vector<std::pair<std::string, std::string>> licenses();

}  // namespace trivet::test

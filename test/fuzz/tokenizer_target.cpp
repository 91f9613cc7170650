// SPDX-License-Identifier: Apache-2.0
// An untrusted tokenizer.json: refused, or read as a tokenizer that decodes to the encoded bytes
// and that writes a file of the same tokenizer.
#include <algorithm>
#include <optional>
#include <string>

#include "fuzz_target.h"
#include "plugins/tokenizers/files.h"
#include "tokenizers/bpe/bpe.h"
#include "tokenizers/bpe/tokenizer_json.h"
#include "trivet/error.h"

namespace trivet::test {
namespace {

std::optional<tokenizers::Bpe> read(std::string_view bytes) {
  try {
    return std::optional<tokenizers::Bpe>(std::in_place,
                                          tokenizers::read_tokenizer_json(bytes, "tokenizer.json"),
                                          tokenizers::BpeConfig());
  } catch (const InputError& refused) {
    promise(!refused.message().empty(), "a file is refused without a reason");
    return std::nullopt;
  }
}

// Whether the tokenizer has a token for everything in the text.
bool comes_back(const Tokenizer& tokenizer, std::string_view text) {
  try {
    const std::vector<std::int32_t> ids = tokenizer.encode(text);
    const auto unknown = tokenizer.unknown_id();
    const std::string back = tokenizer.decode(ids);
    if (unknown && std::find(ids.begin(), ids.end(), *unknown) != ids.end()) return false;
    // "add_prefix_space" puts blanks in.
    std::size_t at = 0;
    for (const char byte : back) {
      if (at < text.size() && text[at] == byte) {
        ++at;
      } else {
        promise(byte == ' ', "a text does not come back");
      }
    }
    promise(at == text.size(), "a text does not come back whole");
    return true;
  } catch (const InputError&) {
    return false;  // a byte has no token
  }
}

}  // namespace

bool accepts_tokenizer(std::string_view bytes) {
  const auto tokenizer = read(bytes);
  if (!tokenizer) return false;
  const std::string written = tokenizer->tokenizer_json().value();
  const auto again = read(written);
  promise(again.has_value(), "what is written is refused");
  promise(again->fingerprint() == tokenizer->fingerprint(), "another tokenizer is read back");
  promise(again->tokenizer_json() == written, "it is written in another way");
  for (const std::string_view text : {bytes.substr(0, 300), std::string_view("ab abc<s>a\xff b")}) {
    promise(comes_back(*tokenizer, text) == comes_back(*again, text), "they differ");
  }
  return true;
}

std::vector<std::string> tokenizer_seeds() {
  return {
      tokenizer_json({{"a", "b"}, {"ab", "c"}, {" ", "ab"}}, {"<s>", "</s>"}),
      R"({"model": {"vocab": {"a": 0, "b": 1, "ab": 2, "aab": 3}, "merges": ["a b", "a ab"]},
          "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}})",
      R"({"version": "1.0", "added_tokens": [{"id": 2, "content": "two words", "special": false},
          {"id": 3, "content": "\u00e9", "special": true}], "normalizer": null,
          "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel",
          "use_regex": false, "add_prefix_space": false}]}, "decoder": {"type": "ByteLevel"},
          "model": {"type": "BPE", "unk_token": "\u0120", "ignore_merges": true,
          "vocab": {"\u0120": 0, "a": 1, "\u0120a": 4}, "merges": [["\u0120", "a"]]}})",
  };
}

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
// An untrusted tokenizer.json of any kind: refused, or read as a tokenizer whose ids are in range
// and have a text, and which its own file makes again.
#include <optional>
#include <string>

#include "fuzz_target.h"
#include "tokenizers/huggingface/hugging_face.h"
#include "trivet/error.h"

namespace trivet::test {
namespace {

std::optional<tokenizers::HuggingFace> read_hugging_face(std::string_view bytes) {
  tokenizers::HuggingFaceConfig config;
  config.file = "tokenizer.json";
  try {
    return std::optional<tokenizers::HuggingFace>(std::in_place, std::string(bytes), config);
  } catch (const InputError& refused) {
    promise(!refused.message().empty(), "a file is refused without a reason");
    return std::nullopt;
  }
}

// The text of the ids; nothing if something has no token or takes too long.
std::optional<std::string> there_and_back(const Tokenizer& tokenizer, std::string_view text) {
  try {
    const std::vector<std::int32_t> ids = tokenizer.encode(text);
    for (const std::int32_t id : ids) {
      promise(id >= 0 && id < tokenizer.vocabulary_size(), "an id is out of range");
      tokenizer.token_text(id);
    }
    return tokenizer.decode(ids);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

bool accepts_hugging_face(std::string_view bytes) {
  const auto tokenizer = read_hugging_face(bytes);
  if (!tokenizer) return false;
  const auto again = read_hugging_face(tokenizer->tokenizer_json().value());
  promise(again.has_value(), "its own file is refused");
  promise(again->fingerprint() == tokenizer->fingerprint(), "another tokenizer is read back");
  for (const std::string_view text :
       {bytes.substr(0, 200), std::string_view("ab A\u0301b c<s>a\xff \u4f60\n b 12")}) {
    promise(there_and_back(*tokenizer, text) == there_and_back(*again, text), "they differ");
  }
  return true;
}

std::vector<std::string> hugging_face_seeds() {
  return {
      R"j({"added_tokens": [{"id": 2, "content": "<s>", "special": true, "lstrip": true},
          {"id": 3, "content": "b c", "single_word": true, "rstrip": true}],
          "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"},
          {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}]},
          "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern":
          {"Regex": "(?i:'s)|\\p{L}+|[^\\s\\p{L}]{1,3}|\\s+(?!\\S)"}, "behavior": "Isolated",
          "invert": false}, {"type": "ByteLevel", "use_regex": false}]}, "post_processor":
          {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}]},
          "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "unk_token": "a",
          "vocab": {"a": 0, "b": 1, "ab": 4}, "merges": ["a b"]}})j",
      R"j({"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
          "post_processor": {"type": "BertProcessing", "sep": ["x", 0], "cls": ["x", 0]},
          "decoder": {"type": "WordPiece"}, "model": {"type": "WordPiece", "unk_token": "?",
          "max_input_chars_per_word": 9, "vocab": {"?": 0, "a": 1, "##b": 2}}})j",
      R"j({"normalizer": {"type": "Strip"}, "pre_tokenizer": {"type": "Metaspace"},
          "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"},
          {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}, "model": {"type": "Unigram",
          "unk_id": 0, "byte_fallback": true, "vocab": [["?", 0], ["a", -1.5], ["\u2581a", -2]]}})j",
      R"j({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
          {"type": "Digits", "individual_digits": true}, {"type": "Punctuation"}]},
          "decoder": null, "model": {"type": "WordLevel", "unk_token": "?",
          "vocab": {"?": 0, "ab": 1}}})j",
  };
}

}  // namespace trivet::test

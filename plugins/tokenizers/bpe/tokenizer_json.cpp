// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/tokenizer_json.h"

#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "tokenizers/bpe/bpe_builder.h"
#include "tokenizers/text/json_file.h"
#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

using Json = nlohmann::json;

class Reader {
 public:
  Reader(const Json& file, const std::string& source)
      : file_(file), source_(source), builder_(source) {}

  BpeVocabulary read() {
    if (!file_.is_object()) fail("is not a tokenizer.json: expected an object");
    const Json& model = field_of(file_, "model");
    check_model(model);
    read_tokens(model);
    read_merges(field_of(model, "merges"));
    read_unknown(field_of(model, "unk_token"));
    BpeVocabulary& vocabulary = builder_.vocabulary();
    vocabulary.ignore_merges = flag(model, "ignore_merges", false);
    read_pre_tokenizer(field_of(file_, "pre_tokenizer"));
    refuse_unless_none("normalizer");
    const Json& decoder = field_of(file_, "decoder");
    if (!decoder.is_null() && type_of(decoder) != "ByteLevel") fail_kind("decoder", decoder);
    return builder_.finish();
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::string hint = {}) const {
    throw InputError(source_ + ": " + what, {.hint = std::move(hint)});
  }
  [[noreturn]] void fail_kind(const char* field, const Json& value) const {
    const std::string type = type_of(value);
    fail(fmt::format("the {} {} is not supported", field, type.empty() ? shown_json(value) : type),
         "tokenizers/Bpe reads byte-level BPE: model BPE, pre-tokenizer and decoder ByteLevel; "
         "tokenizers/HuggingFace reads other kinds");
  }

  bool flag(const Json& object, const char* name, bool otherwise) const {
    const Json& value = field_of(object, name);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) fail(fmt::format("\"{}\" must be true or false", name));
    return value.get<bool>();
  }

  void refuse_unless_none(const char* name) const {
    const Json& value = field_of(file_, name);
    if (!value.is_null()) fail_kind(name, value);
  }

  void check_model(const Json& model) const {
    if (!model.is_object()) fail("\"model\" is missing");
    // Files from before version 0.10 of the library lack the type.
    if (const std::string type = type_of(model); !type.empty() && type != "BPE") {
      fail_kind("model", model);
    }
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& value = field_of(model, name);
      if (!value.is_null() && value != "") fail(fmt::format("\"{}\" is not supported", name));
    }
    for (const char* name : {"byte_fallback", "fuse_unk"}) {
      if (flag(model, name, false)) fail(fmt::format("\"{}\" is not supported", name));
    }
    const Json& dropout = field_of(model, "dropout");
    if (!dropout.is_null() && dropout != 0) fail("\"dropout\" is not supported");
  }

  std::int64_t id(const Json& value, const std::string& what) const {
    const bool fits =
        value.is_number_unsigned() &&
        value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int32_t>::max()};
    if (!fits) fail(what + " has the id " + shown_json(value) + ", which is not a token id");
    return value.get<std::int64_t>();
  }

  void read_tokens(const Json& model) {
    const Json& tokens = field_of(model, "vocab");
    if (!tokens.is_object()) fail("model: \"vocab\" must be an object of tokens and ids");
    for (const auto& [text, value] : tokens.items()) {
      builder_.add_token(text, id(value, shown_json(text)));
    }
    const Json& added = field_of(file_, "added_tokens");
    if (!added.is_null() && !added.is_array()) fail("\"added_tokens\" must be a list");
    for (const Json& token : added) read_added(token);
    builder_.finish_tokens();
  }

  void read_added(const Json& token) {
    const Json& content = field_of(token, "content");
    if (!content.is_string()) fail("an added token has no \"content\"");
    const std::string name = shown_json(content);
    for (const char* field : {"single_word", "lstrip", "rstrip"}) {
      if (flag(token, field, false)) {
        fail(fmt::format("\"{}\" of the added token {} is not supported", field, name),
             "the flag would drop blanks of the text, or depend on adjacent words");
      }
    }
    builder_.add_added({.id = static_cast<std::int32_t>(id(field_of(token, "id"), name)),
                        .content = content.get<std::string>(),
                        .special = flag(token, "special", false)});
  }

  void read_merges(const Json& merges) {
    if (!merges.is_array()) fail("model: \"merges\" must be a list");
    for (const Json& merge : merges) {
      if (merge.is_string()) {
        const auto& text = merge.get_ref<const std::string&>();
        const std::size_t space = text.find(' ');
        if (space == std::string::npos) {
          fail("the merge " + shown_json(merge) + " does not have two parts");
        }
        builder_.add_merge(text.substr(0, space), text.substr(space + 1));
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        builder_.add_merge(merge[0].get<std::string>(), merge[1].get<std::string>());
      } else {
        fail("the merge " + shown_json(merge) + " is not a pair of tokens");
      }
    }
  }

  void read_unknown(const Json& unknown) {
    if (unknown.is_null()) return;
    const auto id = unknown.is_string() ? builder_.find(unknown.get<std::string>()) : std::nullopt;
    if (!id) fail("\"unk_token\" " + shown_json(unknown) + " is not a token");
    builder_.vocabulary().unknown = id;
  }

  void read_pre_tokenizer(const Json& value) {
    const Json* step = &value;
    // A sequence of one element equals that element.
    if (type_of(value) == "Sequence") {
      const Json& steps = field_of(value, "pretokenizers");
      if (!steps.is_array() || steps.size() != 1) fail_kind("pre_tokenizer", value);
      step = &steps.front();
    }
    if (type_of(*step) != "ByteLevel") fail_kind("pre_tokenizer", *step);
    builder_.vocabulary().split_words = flag(*step, "use_regex", true);
    builder_.vocabulary().add_prefix_space = flag(*step, "add_prefix_space", true);
  }

  const Json& file_;
  const std::string& source_;
  BpeBuilder builder_;
};

}  // namespace

BpeVocabulary read_tokenizer_json(std::string_view text, const std::string& source) {
  const Json file = parse_json(text, source);
  return Reader(file, source).read();
}

}  // namespace trivet::tokenizers

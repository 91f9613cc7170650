// SPDX-License-Identifier: Apache-2.0
// Tokenizer: text to token ids and back. Ids are 0 ... vocabulary_size() - 1; a model's embedding
// has as many rows or more.
//
// Example (sdk/examples/snippets/tokenizer.cpp#tokenizer):
//
//   auto tokenizer = trivet::make(config.tokenizer);  // trivet::ConfigOf<trivet::Tokenizer>
//   std::vector<std::int32_t> ids = tokenizer->encode("In the beginning");
//   std::string text = tokenizer->decode(ids);
//
// Text is bytes: it need not be UTF-8, and nothing is normalized, replaced or dropped.
// decode(encode(text)) is `text` again for every byte string; a tokenizer for which that does not
// hold (one that maps unknown characters to one token, or normalizes) says so in its own header.
// The other way round does not hold: decode's text may be encoded differently, since several
// sequences of ids can have the same text.
//
// A special token (start, end, padding) is no text. encode() adds none: who packs sequences puts
// bos_id() and eos_id() where they belong. The text of the ids is in decode()'s result as the
// tokenizer names it ("<|endoftext|>"), so that nothing is hidden; leave such ids away before
// decoding where they are not to be seen (is_special).
//
// A tokenizer never changes after its constructor, which reads all files it needs: every method is
// const and may be called from any number of threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"

namespace trivet {

struct TokenizerConfig {};
TRIVET_CONFIG(TokenizerConfig, trivet::NoBase)

class TRIVET_API Tokenizer : public Object {
 public:
  static constexpr std::string_view kKind = "tokenizer";
  using Config = TokenizerConfig;
  using Context = NoContext;

  ~Tokenizer() override;

  // At least 1. Includes special tokens. [any-thread]
  virtual std::int32_t vocabulary_size() const = 0;

  // Empty for an empty text. Throws InputError only where a tokenizer has no id for something, as
  // its header says. [any-thread]
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  // The texts of the ids in a row. For the pieces of a running generation see utf8_stream.h: a
  // token may end in the middle of a character. Throws InputError for an id that is out of range.
  // [any-thread]
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

  // The bytes of one token: decode({id}) unless a tokenizer says otherwise. Throws as decode().
  // [any-thread]
  virtual std::string token_text(std::int32_t id) const;

  // The token with this text; among several the one with the lowest id, special ones first. Looks
  // through all tokens unless a tokenizer has something better. [any-thread]
  virtual std::optional<std::int32_t> token_id(std::string_view text) const;

  // Whether the id is a special token. Throws as decode(). Default: bos_id(), eos_id() and pad_id()
  // are. [any-thread]
  virtual bool is_special(std::int32_t id) const;

  // The tokens of the start of a text, its end, the padding after it, and of what the vocabulary
  // lacks. Nothing where there is none, as by default; two may be the same token. [any-thread]
  virtual std::optional<std::int32_t> bos_id() const;
  virtual std::optional<std::int32_t> eos_id() const;
  virtual std::optional<std::int32_t> pad_id() const;
  virtual std::optional<std::int32_t> unknown_id() const;

  // A digest (digest.h) of all that decides the results of the methods above, and of nothing else:
  // not of a file's name or location. Data and runs keep it to tell another tokenizer from their
  // own. [any-thread]
  virtual std::string fingerprint() const = 0;

  // The text of a Hugging Face tokenizer.json that makes the same tokenizer, for those who export a
  // model; nothing where that format cannot say it, as by default. [any-thread]
  virtual std::optional<std::string> tokenizer_json() const;

  // Writes the tokenizer's files into a folder, which exists, and returns the config that makes the
  // same tokenizer of them; paths in it are names in the folder. A run keeps its tokenizer so,
  // whatever becomes of the files it was made of. Empty where a tokenizer cannot, as by default.
  // Throws RunError for what cannot be written. [any-thread]
  virtual ConfigOf<Tokenizer> store(const std::filesystem::path& folder) const;

 protected:
  // For derived classes: throws the InputError of decode() for an id that is out of range.
  void check_id(std::int32_t id) const;
};

}  // namespace trivet

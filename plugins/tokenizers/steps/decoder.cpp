// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/steps/decoder.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "tokenizers/steps/metaspace.h"
#include "tokenizers/steps/replacement.h"
#include "tokenizers/text/byte_characters.h"
#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {
namespace {

constexpr const char* kKnownDecoders =
    "ByteLevel, WordPiece, Metaspace, BPEDecoder, Replace, ByteFallback, Fuse, Strip, Sequence";

using Tokens = std::vector<DecodedToken>;

class ByteLevelDecoder final : public Decoder {
 public:
  Tokens apply(Tokens tokens) const override {
    for (DecodedToken& token : tokens) {
      if (token.is_added) continue;
      if (auto bytes = bytes_of_characters(token.text)) token.text = std::move(*bytes);
    }
    return tokens;
  }
  bool treats_each_alone() const override { return true; }
};

class WordPieceDecoder final : public Decoder {
 public:
  explicit WordPieceDecoder(const JsonPart& part)
      : prefix_(part.text("prefix", "##")), cleanup_(part.flag("cleanup", true)) {
    part.check_fields({"prefix", "cleanup"});
  }
  Tokens apply(Tokens tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& text = tokens[i].text;
      if (i > 0 && text.starts_with(prefix_)) {
        text.erase(0, prefix_.size());
      } else if (i > 0) {
        text.insert(0, 1, ' ');
      }
      if (cleanup_) text = cleaned_up(std::move(text));
    }
    return tokens;
  }

 private:
  static std::string cleaned_up(std::string text) {
    constexpr std::pair<const char*, const char*> kChanges[] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [what, by] : kChanges) text = with_replaced(text, what, by);
    return text;
  }

  std::string prefix_;
  bool cleanup_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(const JsonPart& part) : fields_(part) {}
  Tokens apply(Tokens tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool drops = i == 0 && fields_.prepend != Prepend::never;
      tokens[i].text = with_replaced(tokens[i].text, fields_.replacement, drops ? "" : " ");
    }
    return tokens;
  }

 private:
  Metaspace fields_;
};

// A suffix at the end of words becomes a blank, but for the last token.
class SuffixDecoder final : public Decoder {
 public:
  explicit SuffixDecoder(const JsonPart& part) : suffix_(part.text("suffix", "</w>")) {
    part.check_fields({"suffix"});
    if (suffix_.empty()) part.field("suffix").fail("is empty");
  }
  Tokens apply(Tokens tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i].text = with_replaced(tokens[i].text, suffix_, i + 1 == tokens.size() ? "" : " ");
    }
    return tokens;
  }

 private:
  std::string suffix_;
};

class ReplaceDecoder final : public Decoder {
 public:
  explicit ReplaceDecoder(const JsonPart& part) : replacement_(part) {}
  Tokens apply(Tokens tokens) const override {
    // A regular expression needs characters.
    for (DecodedToken& token : tokens) {
      if (!find_invalid_utf8(token.text)) token.text = replacement_.apply(std::move(token.text));
    }
    return tokens;
  }

 private:
  Replacement replacement_;
};

class ByteFallbackDecoder final : public Decoder {
 public:
  Tokens apply(Tokens tokens) const override {
    for (DecodedToken& token : tokens) {
      if (const auto byte = byte_of(token.text)) {
        token.text.assign(1, static_cast<char>(*byte));
      }
    }
    return tokens;
  }

 private:
  static std::optional<unsigned char> byte_of(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || !text.ends_with('>')) return std::nullopt;
    unsigned char byte = 0;
    const auto [stop, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
    if (error != std::errc() || stop != text.data() + 5) return std::nullopt;
    return byte;
  }
};

class FuseDecoder final : public Decoder {
 public:
  Tokens apply(Tokens tokens) const override {
    DecodedToken whole;
    for (const DecodedToken& token : tokens) whole.text += token.text;
    return {std::move(whole)};
  }
};

// Drops up to `start` characters at the front of each token and `stop` at its end.
class StripDecoder final : public Decoder {
 public:
  explicit StripDecoder(const JsonPart& part)
      : content_(part.character("content", " ")),
        start_(part.integer("start", 0)),
        stop_(part.integer("stop", 0)) {
    part.check_fields({"content", "start", "stop"});
  }
  Tokens apply(Tokens tokens) const override {
    for (DecodedToken& token : tokens) {
      std::string_view text = token.text;
      for (std::int64_t i = 0; i < start_ && text.starts_with(content_); ++i) {
        text.remove_prefix(content_.size());
      }
      for (std::int64_t i = 0; i < stop_ && text.ends_with(content_); ++i) {
        text.remove_suffix(content_.size());
      }
      token.text = std::string(text);
    }
    return tokens;
  }

 private:
  std::string content_;
  std::int64_t start_, stop_;
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(const JsonPart& part) {
    part.check_fields({"decoders"});
    for (const JsonPart& step : part.list("decoders")) {
      if (step.is_null()) step.fail("must be a decoder, not null");
      steps_.push_back(read_decoder(step));
    }
  }
  Tokens apply(Tokens tokens) const override {
    for (const auto& step : steps_) tokens = step->apply(std::move(tokens));
    return tokens;
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

}  // namespace

std::unique_ptr<Decoder> byte_level_decoder() {
  return std::make_unique<ByteLevelDecoder>();
}

std::unique_ptr<Decoder> read_decoder(const JsonPart& part) {
  if (part.is_null()) return nullptr;
  const std::string type = part.type();
  if (type == "WordPiece") return std::make_unique<WordPieceDecoder>(part);
  if (type == "Metaspace") return std::make_unique<MetaspaceDecoder>(part);
  if (type == "BPEDecoder") return std::make_unique<SuffixDecoder>(part);
  if (type == "Replace") return std::make_unique<ReplaceDecoder>(part);
  if (type == "Strip") return std::make_unique<StripDecoder>(part);
  if (type == "Sequence") return std::make_unique<DecoderSequence>(part);
  if (type == "ByteLevel") {
    part.check_fields({"add_prefix_space", "trim_offsets", "use_regex"});
    return byte_level_decoder();
  }
  if (type == "ByteFallback" || type == "Fuse") {
    part.check_fields({});
    if (type == "Fuse") return std::make_unique<FuseDecoder>();
    return std::make_unique<ByteFallbackDecoder>();
  }
  part.fail_type("decoder", kKnownDecoders);
}

}  // namespace trivet::tokenizers

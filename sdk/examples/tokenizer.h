// SPDX-License-Identifier: Apache-2.0
// Pieces: bytes, and pieces of text that the config lists. At each position the longest piece is
// taken, else one byte. Every byte string is encoded, and decode(encode(text)) is `text`.
//
//   0 ... 255      the bytes
//   256            the end of a text, "<|end|>"; encode() never gives it
//   257 ...        the pieces, in the order of the config
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include <trivet/config/digest.h>
#include <trivet/tokenizer.h>

namespace acme {

struct PiecesConfig : trivet::TokenizerConfig {
  std::vector<std::string> pieces;

  void validate(trivet::Diagnostics& diagnostics) const {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::string path = "pieces[" + std::to_string(i) + "]";
      if (pieces[i].size() < 2) diagnostics.add(path, "has fewer than two bytes");
      if (std::find(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(i), pieces[i]) !=
          pieces.begin() + static_cast<std::ptrdiff_t>(i)) {
        diagnostics.add(path, "is listed twice");
      }
    }
  }
};
TRIVET_CONFIG(PiecesConfig, trivet::TokenizerConfig,
              (pieces, "Texts of two bytes or more that become one token each."))

class Pieces final : public trivet::Tokenizer {
 public:
  using Config = PiecesConfig;

  explicit Pieces(const Config& config) : config_(config) {
    for (int byte = 0; byte < 256; ++byte) texts_.emplace_back(1, static_cast<char>(byte));
    texts_.emplace_back("<|end|>");
    for (const std::string& piece : config.pieces) {
      ids_.emplace(piece, static_cast<std::int32_t>(texts_.size()));
      texts_.push_back(piece);
      longest_ = std::max(longest_, piece.size());
    }
  }

  // [methods]
  std::int32_t vocabulary_size() const override { return static_cast<std::int32_t>(texts_.size()); }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    while (!text.empty()) {
      ids.push_back(first_token(text));
      text.remove_prefix(texts_[static_cast<std::size_t>(ids.back())].size());
    }
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      check_id(id);
      text += texts_[static_cast<std::size_t>(id)];
    }
    return text;
  }

  std::optional<std::int32_t> eos_id() const override { return kEnd; }

  // The length precedes each piece, so no two lists give the same text.
  std::string fingerprint() const override {
    std::string text = "examples/Pieces 1";
    for (const std::string& piece : config_.pieces) {
      text += " " + std::to_string(piece.size()) + ":" + piece;
    }
    return trivet::digest(text);
  }

  // Its config is enough to make it again, because it takes no file.
  trivet::ConfigOf<trivet::Tokenizer> store(const std::filesystem::path&) const override {
    return config_;
  }
  // [/methods]

 private:
  static constexpr std::int32_t kEnd = 256;

  std::int32_t first_token(std::string_view text) const {
    for (std::size_t size = std::min(longest_, text.size()); size > 1; --size) {
      const auto found = ids_.find(std::string(text.substr(0, size)));
      if (found != ids_.end()) return found->second;
    }
    return static_cast<unsigned char>(text.front());
  }

  Config config_;
  std::vector<std::string> texts_;  // by id
  std::unordered_map<std::string, std::int32_t> ids_;
  std::size_t longest_ = 1;
};

}  // namespace acme

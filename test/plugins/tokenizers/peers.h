// SPDX-License-Identifier: Apache-2.0
// Other readers of tokenizer.json, both from npm: "tokenizers" (0.23.2), Hugging Face's library in
// Rust with a binding, and "@huggingface/tokenizers" (0.2.0), which is written in JavaScript.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace trivet::test {

enum class Peer { rust, javascript };

struct PeerAnswer {
  std::vector<std::int32_t> ids;  // without special tokens around them
  std::string text;               // of the ids
};

// What the peer makes of each text with the file. Nothing, with a warning, if it is not installed.
std::optional<std::vector<PeerAnswer>> peer_answers(Peer peer, const std::string& tokenizer_json,
                                                    const std::vector<std::string>& texts);

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
// Compares tokenizers/HuggingFace with other readers of tokenizer.json on odd texts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace trivet::test {

struct PeerCheck {
  std::size_t texts = 10'000;
  bool lossless = false;                            // texts come back
  std::function<bool(const std::string&)> lossy{};  // texts that do not come back all the same
  bool javascript = true;                           // the JavaScript reader has what the file needs
  // Texts of which the JavaScript reader makes something else than the library; null: none. The
  // test says why.
  std::function<bool(const std::string&)> javascript_differs{};
  bool rust_text = true, javascript_text = true;  // the readers' texts of ids are ours
};

// Compares ids and decoded texts.
void check_peers(const nlohmann::json& file, const PeerCheck& check);

// Whether a text has a character that is not ASCII.
bool is_not_ascii(const std::string& text);

// Whether a text has one of these.
std::function<bool(const std::string&)> contains_any(std::vector<std::string> parts);

}  // namespace trivet::test

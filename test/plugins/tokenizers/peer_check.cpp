// SPDX-License-Identifier: Apache-2.0
#include "peer_check.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "huggingface/forms.h"
#include "odd_texts.h"
#include "peers.h"

namespace trivet::test {
namespace {

constexpr std::size_t kShown = 5;

// Counts differences and shows a few.
class Differences {
 public:
  explicit Differences(const char* who) : who_(who) {}
  ~Differences() {
    INFO(examples_);
    CAPTURE(who_, count_);
    CHECK(count_ == 0);
  }
  void check(bool same, const std::string& what) {
    if (same) return;
    if (++count_ <= kShown) examples_ += what + "\n";
  }

 private:
  const char* who_;
  std::size_t count_ = 0;
  std::string examples_;
};

std::string shown(const std::string& text, const std::vector<std::int32_t>& ours,
                  const std::vector<std::int32_t>& theirs) {
  return nlohmann::json(text).dump(-1, ' ', true) + " is " + nlohmann::json(ours).dump() +
         ", not " + nlohmann::json(theirs).dump();
}

}  // namespace

void check_peers(const nlohmann::json& file, const PeerCheck& check) {
  const std::vector<std::string> texts = odd_texts(check.texts);
  const auto tokenizer = hugging_face(file);
  std::vector<std::vector<std::int32_t>> ids;
  std::vector<std::string> decoded;
  Differences lost("round trip");
  for (const std::string& text : texts) {
    ids.push_back(tokenizer->encode(text));
    decoded.push_back(tokenizer->decode(ids.back()));
    if (!check.lossless || (check.lossy && check.lossy(text))) continue;
    lost.check(decoded.back() == text, text + " became " + decoded.back());
  }
  for (const Peer peer : {Peer::rust, Peer::javascript}) {
    if (peer == Peer::javascript && !check.javascript) continue;
    const auto answers = peer_answers(peer, file.dump(), texts);
    if (!answers) continue;
    Differences differences(peer == Peer::rust ? "ids, Rust" : "ids, JavaScript");
    Differences texts_differ(peer == Peer::rust ? "text, Rust" : "text, JavaScript");
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const bool is_rust = peer == Peer::rust;
      if (!is_rust && check.javascript_differs && check.javascript_differs(texts[i])) continue;
      const PeerAnswer& theirs = (*answers)[i];
      differences.check(ids[i] == theirs.ids, shown(texts[i], ids[i], theirs.ids));
      if (!(is_rust ? check.rust_text : check.javascript_text)) continue;
      texts_differ.check(decoded[i] == theirs.text,
                         nlohmann::json({decoded[i], theirs.text}).dump(-1, ' ', true));
    }
  }
}

bool is_not_ascii(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

std::function<bool(const std::string&)> contains_any(std::vector<std::string> parts) {
  return [parts = std::move(parts)](const std::string& text) {
    return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
      return text.find(part) != std::string::npos;
    });
  };
}

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
#include "peers.h"

#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/shell.h"

namespace trivet::test {
namespace {

constexpr const char* kScript = R"(
const {Tokenizer} = require(process.argv[2]);
const read = name => JSON.parse(require('fs').readFileSync(name, 'utf8'));
const file = read(process.argv[3]), texts = read(process.argv[4]);
async function rust() {
  const tokenizer = Tokenizer.fromString(JSON.stringify(file));
  for (const text of texts) {
    const ids = (await tokenizer.encode(text, null, {addSpecialTokens: false})).getIds();
    console.log(JSON.stringify([ids, await tokenizer.decode(ids, false)]));
  }
}
function javascript() {
  const tokenizer = new Tokenizer(file, {});
  const plain = {skip_special_tokens: false, clean_up_tokenization_spaces: false};
  for (const text of texts) {
    const ids = Array.from(tokenizer.encode(text, {add_special_tokens: false}).ids);
    console.log(JSON.stringify([ids, ids.length > 0 ? tokenizer.decode(ids, plain) : '']));
  }
}
process.argv[2] === 'tokenizers' ? rust() : javascript();
)";

}  // namespace

std::optional<std::vector<PeerAnswer>> peer_answers(Peer peer, const std::string& tokenizer_json,
                                                    const std::vector<std::string>& texts) {
  const std::string name = peer == Peer::rust ? "tokenizers" : "@huggingface/tokenizers";
  if (shell("node -e \"require('" + name + "')\"").exit_code != 0) {
    WARN("skipped: there is no " + name + " (npm, with NODE_PATH set)");
    return std::nullopt;
  }
  const TempDir dir;
  const auto script = dir.write("encode.js", kScript);
  const auto file = dir.write("tokenizer.json", tokenizer_json);
  const auto list = dir.write("texts.json", nlohmann::json(texts).dump());
  const auto out = dir / "answers";
  const ShellResult result =
      shell("node " + quoted(script.string()) + " " + name + " " + quoted(file.string()) + " " +
            quoted(list.string()) + " > " + quoted(out.string()));
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  std::vector<PeerAnswer> answers;
  std::istringstream lines(read_file(out));
  for (std::string line; std::getline(lines, line);) {
    const auto answer = nlohmann::json::parse(line);
    answers.push_back({answer[0].get<std::vector<std::int32_t>>(), answer[1].get<std::string>()});
  }
  REQUIRE(answers.size() == texts.size());
  return answers;
}

}  // namespace trivet::test

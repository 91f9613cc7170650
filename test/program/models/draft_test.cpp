// SPDX-License-Identifier: Apache-2.0
// `trivet generate --draft`: the same text, and what is refused.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/models/alphabet.h"

namespace draft_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;

TEST_CASE("generate gives the same text with a draft", "[slow]") {
  const Alphabet alphabet;
  INFO(alphabet.result().output);
  REQUIRE(alphabet.result().exit_code == 0);
  const std::string draft = " --draft " + quoted(alphabet.workdir().string());
  CHECK(alphabet.generate("abc -n 26 -t 0" + draft).output ==
        alphabet.generate("abc -n 26 -t 0").output);
  const std::string wild = "q -n 20 --seed 3 -t 3 --top-k 0 --samples 2 --json --logprobs";
  std::vector<Json> texts = lines_of(alphabet.generate(wild + draft + " --draft-tokens 2").output);
  REQUIRE(texts.size() == 2);
  for (Json& text : texts) {
    CHECK(text.at("guessed") > 0);
    CHECK(text.at("accepted") <= text.at("guessed"));
    text.erase("guessed"), text.erase("accepted");
  }
  CHECK(texts == lines_of(alphabet.generate(wild).output));
  const auto fails = [&](const std::string& words, const std::string& why) {
    const ShellResult result = alphabet.generate("abc " + words);
    INFO(words << ": " << result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains(why));
  };
  fails("--draft-tokens 3", "--draft-tokens goes with --draft");
  fails("--draft-tokens 0" + draft, "--draft-tokens takes a number from 1 to 1024, not '0'");
  fails("--beams 2" + draft, "--draft does not go with --beams");
  fails("--set task.decode.beam_size=2" + draft, "a draft guesses for one sequence");
  fails("--set task.decode.cf_guidance_scale=2" + draft, "does not go with guidance");
  fails("--draft nowhere", "no run is named 'nowhere'");
  // A model of images.
  const std::filesystem::path images = alphabet.temp() / "images";
  REQUIRE(run(config("vision/local.toml"), images, "mode=train trainer.train_steps=1").exit_code ==
          0);
  fails("--draft " + quoted(images.string()), "the draft's task does not continue texts");
}

}  // namespace draft_test

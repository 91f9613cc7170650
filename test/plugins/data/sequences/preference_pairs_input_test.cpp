// SPDX-License-Identifier: Apache-2.0
// data/PreferencePairs. Expected rows are computed by hand; sequences.h describes their notation.
#include "data/sequences/preference_pairs_input.h"

#include <catch2/catch.hpp>

#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"

namespace preference_pairs_input_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

struct Preferences {
  explicit Preferences(const std::string& lines) {
    config.source = jsonl_source(dir, lines);
    config.tokenizer = letters();
    config.seq_len = 6;
    config.batch_size = 2;
  }
  data::PreferencePairsInput input(const std::string& examples = {}) const {
    InputContext context{
        .phase = Phase::evaluation, .name = "task.eval_input", .examples = examples};
    return {config, context};
  }
  std::vector<std::string> problems() const {
    Diagnostics diagnostics;
    config.validate(diagnostics);
    std::vector<std::string> paths;
    for (const Diagnostic& each : diagnostics.list()) paths.push_back(each.path);
    return paths;
  }
  TempDir dir;
  data::PreferencePairsConfig config;
};

std::vector<std::int32_t> indicator(const Batch& batch) {
  return batch.at("inputs_indicator").to_host<std::int32_t>();
}

}  // namespace

TEST_CASE("each answer is a row with its prompt", "[data-sequences]") {
  const Preferences pairs(R"({"prompt": "ab", "chosen": "xy", "rejected": "z"}
{"prompt": "", "chosen": "q", "rejected": "klmnopqrst"}
{"prompt": "c", "chosen": "d", "rejected": "e"}
)");
  auto input = pairs.input();
  const Batch batch = *input.get_next();
  const auto chosen = rows_of(batch.child("chosen")), rejected = rows_of(batch.child("rejected"));
  CHECK(chosen.ids == Texts{"^abxy.", "^q...."});
  CHECK(chosen.labels == Texts{"abxy$.", "q$...."});
  CHECK(chosen.weights == Texts{"001110", "110000"});
  CHECK(chosen.paddings == Texts{"000001", "001111"});
  CHECK(chosen.segment_ids == Texts{"111110", "110000"});
  CHECK(chosen.segment_pos == Texts{"012340", "010000"});
  CHECK(indicator(batch.child("chosen")) ==
        std::vector<std::int32_t>{1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  CHECK(rejected.labels == Texts{"abz$..", "klmno$"});  // the cut one keeps EOS
  CHECK(rejected.weights == Texts{"001100", "111111"});
  CHECK(batch.at("weight").to_host<float>() == std::vector<float>{1, 1});
  const Batch last = *input.get_next();
  CHECK(last.at("weight").to_host<float>() == std::vector<float>{1, 0});
  CHECK(rows_of(last.child("rejected")).weights[1] == "000000");
  CHECK_FALSE(input.get_next().has_value());
  REQUIRE(input.texts().size() == 2);
  CHECK(input.texts()[1].name == "rejected");
}

TEST_CASE("prompts are cut by inputs_len, and may end with EOS", "[data-sequences]") {
  Preferences pairs(R"({"prompt": "abcdefgh", "chosen": "x", "rejected": "y"})");
  pairs.config.inputs_len = 3;
  CHECK(rows_of(pairs.input().get_next()->child("chosen")).labels[0] == "abcx$.");
  pairs.config.inputs_eos = true;
  CHECK(rows_of(pairs.input().get_next()->child("chosen")).labels[0] == "ab$x$.");
  CHECK(rows_of(pairs.input().get_next()->child("chosen")).weights[0] == "000110");
}

TEST_CASE("pairs continue where they stopped, and know other answers", "[data-sequences]") {
  const std::string lines = R"({"prompt": "a", "chosen": "b", "rejected": "c"}
{"prompt": "d", "chosen": "e", "rejected": "f"}
{"prompt": "g", "chosen": "h", "rejected": "i"}
)";
  const Preferences pairs(lines);
  auto first = pairs.input();
  first.get_next();
  auto second = pairs.input();
  second.restore_state(first.save_state());
  CHECK(rows_of(second.get_next()->child("rejected")).labels[0] == "gi$...");
  std::string changed = lines;
  changed.replace(changed.find("\"f\""), 3, "\"x\"");
  const Preferences altered(changed);
  auto other = altered.input();
  CHECK(input_error([&] { other.restore_state(first.save_state()); }).find("different text") !=
        std::string::npos);
}

TEST_CASE("pairs to score come from a user", "[data-sequences]") {
  const Preferences pairs(R"({"prompt": "a", "chosen": "b", "rejected": "c"})");
  auto input = pairs.input(
      pairs.dir.write("given.jsonl", R"({"prompt": "x", "chosen": "y", "rejected": "z"})")
          .string());
  CHECK(rows_of(input.get_next()->child("chosen")).ids[0] == "^xy...");
  CHECK(input.locations() == Texts{(pairs.dir / "given.jsonl").string() + ":1"});
  CHECK_FALSE(input.get_next().has_value());
}

TEST_CASE("wrong pairs of answers are refused", "[data-sequences]") {
  const auto refused = [](const std::string& lines, bool special_tokens = true) {
    Preferences pairs(lines);
    pairs.config.tokenizer = letters(special_tokens);
    auto input = pairs.input();
    return input_error([&] { input.get_next(); });
  };
  CHECK_THAT(refused(R"({"prompt": "a", "chosen": "b", "rejectd": "c"})"),
             Contains(":1") && Contains("rejected"));
  CHECK_THAT(refused("{\"prompt\": \"a\", \"chosen\": \"b\""), Contains(":1"));
  CHECK_THAT(refused(""), Contains("examples.jsonl"));
  CHECK_THAT(refused("{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": \"c\"}\n"
                     "{\"prompt\": \"abcdefg\", \"chosen\": \"b\", \"rejected\": \"c\"}\n"),
             Contains(":2: the prompt has 7 tokens and leaves no room"));
  CHECK_THAT(refused(R"({"prompt": "ab", "chosen": "", "rejected": "c"})", false),
             Contains(":1: an answer has no token to predict"));
  CHECK_THAT(refused(R"({"prompt": "", "chosen": "a", "rejected": "bc"})", false),
             Contains(":1: an answer has no token to predict"));
  Preferences none("");
  none.config.tokenizer = {};
  CHECK_THROWS_WITH(none.input(), Contains("task.eval_input.tokenizer"));
}

TEST_CASE("wrong fields of preference pairs are named", "[data-sequences]") {
  Preferences pairs(R"({"prompt": "a", "chosen": "b", "rejected": "c"})");
  CHECK(pairs.problems().empty());
  pairs.config.chosen = "{chosen";
  CHECK(pairs.problems() == Texts{"chosen"});
  pairs.config.chosen = pairs.config.rejected;
  CHECK(pairs.problems() == Texts{"rejected"});
  pairs.config.chosen = "{chosen}";
  pairs.config.prompt.clear();
  pairs.config.inputs_eos = true;
  pairs.config.inputs_len = 2;
  CHECK(pairs.problems() == Texts{"inputs_eos", "inputs_len"});
}

}  // namespace preference_pairs_input_test

// SPDX-License-Identifier: Apache-2.0
// data/TextPairs. Expected rows are computed by hand; sequences.h describes their notation.
#include "data/labeled/text_pairs_input.h"

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"

namespace text_pairs_input_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

struct Pairs {
  explicit Pairs(const std::string& lines) {
    config.source = jsonl_source(dir, lines);
    config.tokenizer = letters();
    config.seq_len = 6;
    config.batch_size = 2;
  }
  data::TextPairsInput input(const std::string& examples = {}) const {
    InputContext context{
        .phase = Phase::evaluation, .name = "task.eval_input", .examples = examples};
    return {config, context};
  }
  TempDir dir;
  data::TextPairsConfig config;
};

}  // namespace

TEST_CASE("each text of a pair is a row of its own", "[data-labeled]") {
  const Pairs pairs(R"({"left": "ab", "right": "abcdefgh"}
{"left": "", "right": "a"}
{"left": "a", "right": ""}
{"left": "c", "right": "d"}
{"left": "e", "right": "f"}
)");
  auto input = pairs.input();
  const Batch batch = *input.get_next();
  const auto left = rows_of(batch.child("left")), right = rows_of(batch.child("right"));
  CHECK(left.ids == Texts{"^ab$..", "^c$..."});
  CHECK(right.ids == Texts{"^abcd$", "^d$..."});
  CHECK(left.paddings == Texts{"000011", "000111"});
  CHECK(right.segment_ids == Texts{"111111", "111000"});
  CHECK(right.segment_pos == Texts{"012345", "012000"});
  CHECK(batch.at("weight").to_host<float>() == std::vector<float>{1, 1});
  // The last batch is filled up.
  const Batch last = *input.get_next();
  CHECK(last.at("weight").to_host<float>() == std::vector<float>{1, 0});
  CHECK_FALSE(input.get_next().has_value());
  REQUIRE(input.texts().size() == 2);
  CHECK(input.texts()[0].name == "left");
  CHECK(input.texts()[1].ids == "right/ids");
}

TEST_CASE("pairs continue where they stopped, and know other data", "[data-labeled]") {
  const std::string lines = R"({"left": "a", "right": "b"}
{"left": "c", "right": "d"}
{"left": "e", "right": "f"}
)";
  const Pairs pairs(lines);
  auto first = pairs.input();
  first.get_next();
  const Value state = first.save_state();
  auto second = pairs.input();
  second.restore_state(state);
  CHECK(rows_of(second.get_next()->child("right")).ids[0] == "^f$...");
  Pairs other(R"({"left": "a", "right": "b"}
{"left": "c", "right": "x"}
{"left": "e", "right": "f"}
)");
  auto changed = other.input();
  CHECK(input_error([&] { changed.restore_state(state); }).find("different text") !=
        std::string::npos);
}

TEST_CASE("texts to embed are left sides", "[data-labeled]") {
  const Pairs pairs(R"({"left": "a", "right": "b"})");
  auto input = pairs.input(pairs.dir.write("given.jsonl", "{\"left\": \"xy\"}\n").string());
  const Batch batch = *input.get_next();
  CHECK(rows_of(batch.child("left")).ids == Texts{"^xy$.."});
  CHECK(batch.child("right").empty());
  CHECK_FALSE(input.get_next().has_value());
  auto empty = pairs.input(pairs.dir.write("empty.jsonl", "{\"left\": \"\"}\n").string());
  CHECK_THAT(input_error([&] { empty.get_next(); }),
             Contains("empty.jsonl:1: the text has no token"));
}

TEST_CASE("wrong pairs are refused", "[data-labeled]") {
  const auto refused = [](const std::string& lines) {
    const Pairs pairs(lines);
    auto input = pairs.input();
    return input_error([&] { input.get_next(); });
  };
  CHECK_THAT(refused(R"({"left": "a", "rihgt": "b"})"), Contains(":1") && Contains("right"));
  CHECK_THAT(refused(R"({"left": "", "right": "b"})"), Contains("no document"));
  Pairs narrow(R"({"left": "a", "right": "b"})");
  narrow.config.seq_len = 2;
  CHECK_THAT(input_error([&] { narrow.input(); }),
             Contains("task.eval_input.seq_len") && Contains("no room"));
  Pairs braces(R"({"left": "a", "right": "b"})");
  braces.config.right = "{right";
  Diagnostics diagnostics;
  braces.config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "right");
}

}  // namespace text_pairs_input_test

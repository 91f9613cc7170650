// SPDX-License-Identifier: Apache-2.0
// data/LanguageModel: suffixes of targets, and features that pass through. Expected rows are
// computed by hand; sequences.h describes their notation.
#include "data/sequences/language_model_input.h"

#include <catch2/catch.hpp>

#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"
#include "trivet/error.h"
#include "trivet/extensions/passthrough.h"
#include "trivet/extensions/preparation.h"

namespace language_model_input_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

struct Fields {
  explicit Fields(const std::string& lines) {
    config.source = jsonl_source(dir, lines);
    config.tokenizer = letters();
    config.inputs = "{i}";
    config.targets = "{t}";
    config.seq_len = 9;
    config.batch_size = 2;
    config.pack = false;
    config.long_documents = data::LongDocuments::trim;
  }
  data::LanguageModelInput input(Phase phase = Phase::evaluation,
                                 const std::string& examples = {}) const {
    InputContext context{.phase = phase, .name = "task.eval_input", .examples = examples};
    return {config, context};
  }
  Texts problems() const {
    Diagnostics diagnostics;
    config.validate(diagnostics);
    Texts paths;
    for (const Diagnostic& each : diagnostics.list()) paths.push_back(each.path);
    return paths;
  }
  TempDir dir;
  data::LanguageModelConfig config;
};

}  // namespace

TEST_CASE("with suffixes the loss is of their tokens alone", "[data-sequences]") {
  // As the packed example of Pax' seqio_input_test: inputs of 4, targets of 2 and 0, suffixes of 2
  // and 3 tokens, without EOS.
  Fields fields(R"({"i": "abcd", "t": "ef", "s": "gh"}
{"i": "klmn", "t": "", "s": "xyz"}
)");
  fields.config.suffixes = "{s}";
  fields.config.add_eos = false;
  auto single = fields.input();
  const Batch batch = *single.get_next();
  const auto rows = rows_of(batch);
  CHECK(rows.labels == Texts{"abcdefgh.", "klmnxyz.."});
  CHECK(rows.weights == Texts{"000000110", "000011100"});
  CHECK(batch.at("inputs_indicator").to_host<std::int32_t>() ==
        std::vector<std::int32_t>{1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0});
  fields.config.pack = true;
  fields.config.seq_len = 17;
  fields.config.batch_size = 1;
  auto packed = fields.input();
  const auto together = rows_of(*packed.get_next());
  CHECK(together.labels == Texts{"abcdefghklmnxyz.."});
  CHECK(together.weights == Texts{"00000011000011100"});
  CHECK(together.paddings == Texts{"00000000000000011"});
}

TEST_CASE("EOS after a suffix counts, and a row's state knows the suffix", "[data-sequences]") {
  Fields fields(R"({"i": "a", "t": "b", "s": "c"})");
  fields.config.suffixes = "{s}";
  auto input = fields.input();
  CHECK(rows_of(*input.get_next()).weights[0] == "001100000");
  Fields other(R"({"i": "a", "t": "bc", "s": ""})");  // the same tokens, another loss
  other.config.suffixes = "{s}";
  auto changed = other.input();
  CHECK_THAT(input_error([&] { changed.restore_state(input.save_state()); }),
             Contains("different text"));
}

TEST_CASE("features pass through evaluations, and training does not have them",
          "[data-sequences]") {
  Fields fields(R"({"i": "a", "t": "b", "id": "x-1", "score": 0.5}
{"i": "c", "t": "d", "id": "é", "score": 2}
{"i": "e", "t": "f", "id": "", "score": 3}
)");
  fields.config.passthrough_features = {"id", "score"};
  auto input = fields.input();
  const Batch batch = *input.get_next();
  CHECK(*passthrough_of(batch, 0).find("id") == "x-1");
  CHECK(*passthrough_of(batch, 0).find("score") == "0.5");
  CHECK(*passthrough_of(batch, 1).find("id") == "é");
  CHECK(*passthrough_of(*input.get_next(), 0).find("id") == "");
  auto training = fields.input(Phase::training);
  CHECK(passthrough_of(*training.get_next(), 0).is_null());
  auto given = fields.input(
      Phase::evaluation,
      fields.dir.write("given.jsonl", R"({"i": "q", "t": "r", "id": "y", "score": 1})").string());
  CHECK(*passthrough_of(*given.get_next(), 0).find("id") == "y");
}

TEST_CASE("features that cannot pass through are refused", "[data-sequences]") {
  const auto refused = [](const std::string& line) {
    Fields fields(line);
    fields.config.passthrough_features = {"id"};
    auto input = fields.input();
    return input_error([&] { input.get_next(); });
  };
  CHECK_THAT(refused(R"({"i": "a", "t": "b", "ids": "x"})"),
             Contains(":1: has no feature 'id' to pass through"));
  CHECK_THAT(refused(R"({"i": "a", "t": "b", "id": "x\u0000y"})"), Contains("NUL"));
  CHECK_THAT(refused(R"({"i": "a", "t": "b", "id": ["x"]})"), Contains("has no feature 'id'"));
  CHECK_THROWS_WITH(passthrough_texts(Texts{"\xff"}), Contains("not UTF-8"));
  Batch wrong;
  wrong.set("passthrough/id", Tensor::host({2}));
  CHECK_THROWS_WITH(passthrough_of(wrong, 0), Contains("passthrough/id"));
}

TEST_CASE("wrong fields of suffixes and features are named", "[data-sequences]") {
  Fields fields(R"({"i": "a", "t": "b"})");
  CHECK(fields.problems().empty());
  fields.config.suffixes = "{s";
  fields.config.weights_on_targets_only = true;
  CHECK(fields.problems() == Texts{"suffixes", "weights_on_targets_only"});
  fields.config.suffixes.clear();
  fields.config.passthrough_features = {"a", "b", "a"};
  fields.config.pack = true;
  CHECK(fields.problems() == Texts{"passthrough_features", "passthrough_features[2]"});
}

TEST_CASE("positions have the number of their document's task", "[data-sequences]") {
  using Ids = std::vector<std::int32_t>;
  const auto ids_of = [](const Batch& batch) {
    return batch.at("task_ids").to_host<std::int32_t>();
  };
  Fields fields(R"({"i": "ab", "t": "c", "task": 2}
{"i": "d", "t": "e", "task": "1"}
{"i": "", "t": "f", "task": 0}
)");
  fields.config.task_ids = "{task}";
  fields.config.seq_len = 5;
  fields.config.add_eos = false;
  auto single = fields.input();
  CHECK(ids_of(*single.get_next()) == Ids{2, 2, 2, 0, 0, 1, 1, 0, 0, 0});
  // The second row only fills the batch.
  CHECK(ids_of(*single.get_next()) == Ids{0, 0, 0, 0, 0, 2, 2, 2, 0, 0});
  fields.config.task_ids = "3";
  auto fixed = fields.input();
  CHECK(ids_of(*fixed.get_next()) == Ids{3, 3, 3, 0, 0, 3, 3, 0, 0, 0});
  CHECK_THAT(input_error([&] { fixed.restore_state(single.save_state()); }),
             Contains("different text"));
  fields.config.task_ids = "";
  auto none = fields.input();
  CHECK_FALSE(none.get_next()->contains("task_ids"));
  fields.config.task_ids = "{task}";
  fields.config.pack = true;
  fields.config.batch_size = 1;
  fields.config.seq_len = 7;
  auto packed = fields.input();
  CHECK(ids_of(*packed.get_next()) == Ids{2, 2, 2, 1, 1, 0, 0});
}

TEST_CASE("the parts of a mixture number their tasks", "[data-sequences]") {
  Fields first(R"({"t": "a"}
{"t": "b"}
)"),
      second(R"({"t": "c"})");
  const auto part = [](const Fields& fields, const char* task) {
    return Value::table({{"source", fields.config.source.to_value()},
                         {"features", Value::table({{"t", "{t}"}, {"task", task}})}});
  };
  first.config.source = {
      "data/Mixture",
      Value::table({{"sources", Value::array({part(first, "0"), part(second, "1")})},
                    {"exhausted", "continue"}})};
  first.config.inputs = "";
  first.config.task_ids = "{task}";
  first.config.add_eos = false;
  first.config.seq_len = 1;
  first.config.batch_size = 3;
  auto input = first.input();
  const Batch batch = *input.get_next();
  const auto labels = rows_of(batch).labels;
  const auto tasks = batch.at("task_ids").to_host<std::int32_t>();
  REQUIRE(labels.size() == 3);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    INFO(labels[i]);
    CHECK(tasks[i] == (labels[i] == "c" ? 1 : 0));
  }
}

TEST_CASE("numbers of tasks that are none are refused", "[data-sequences]") {
  for (const char* task : {"\"x\"", "-1", "1.5", "\"\"", "3000000000"}) {
    INFO(task);
    Fields fields(std::string(R"({"i": "a", "t": "b", "task": )") + task + "}");
    fields.config.task_ids = "{task}";
    auto input = fields.input();
    CHECK_THAT(input_error([&] { input.get_next(); }),
               Contains(":1: task_ids gives '") && Contains("numbered from 0"));
  }
  Fields fields(R"({"i": "a", "t": "b"})");
  fields.config.task_ids = "{task}";
  CHECK(fields.problems().empty());
  auto input = fields.input();
  CHECK_THAT(input_error([&] { input.get_next(); }), Contains("task"));
  fields.config.task_ids = "{task";
  CHECK(fields.problems() == Texts{"task_ids"});
}

TEST_CASE("token files hold no suffixes, tasks or features", "[data-sequences]") {
  Fields fields(R"({"t": "b", "s": "c", "id": "x"})");
  fields.config.inputs.clear();
  const auto refused = [&] {
    const auto input = fields.input();
    return input_error([&] { input.prepare(fields.dir.path(), 1 << 20); });
  };
  fields.config.suffixes = "{s}";
  CHECK_THAT(refused(), Contains("`suffixes`"));
  fields.config.suffixes.clear();
  fields.config.task_ids = "1";
  CHECK_THAT(refused(), Contains("`task_ids`"));
  fields.config.task_ids.clear();
  fields.config.passthrough_features = {"id"};
  CHECK_THAT(refused(), Contains("passthrough_features"));
}

}  // namespace language_model_input_test

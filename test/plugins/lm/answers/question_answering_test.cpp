// SPDX-License-Identifier: Apache-2.0
// lm/QuestionAnswering: spans, losses and answers over several windows by hand, gradients.
#include "lm/answers/question_answering.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "lm/answers/position_accuracy.h"
#include "lm/answers/span_search.h"
#include "lm/models/bert_question_answering.h"
#include "plugins/lm/models/encoder_fixture.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/task.h"
#include "trivet/testing/gradient_check.h"
#include "trivet/testing/metric_check.h"

namespace lm_question_answering_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using lm::AnswerSpan;
using Numbers = std::vector<std::int32_t>;

namespace {

struct TaskFixture {
  explicit TaskFixture(const lm::QuestionAnsweringConfig& config = {},
                       const std::string& backend = "tiny/Backend")
      : device(open_device(backend)) {
    TaskContext context{*device, {}};
    task = std::make_unique<lm::QuestionAnswering>(config, context);
  }
  Tensor f32(const std::vector<float>& values, const Shape& shape) const {
    return Tensor::from<float>(*device, values, shape);
  }
  Tensor i32(const std::vector<std::int32_t>& values, const Shape& shape) const {
    return Tensor::from<std::int32_t>(*device, values, shape);
  }
  Tensor u8(const std::string& text, std::int64_t rows) const {
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    return Tensor::from<std::uint8_t>(*device, bytes, {rows, std::ssize(bytes) / rows});
  }
  std::unique_ptr<Device> device;
  std::unique_ptr<lm::QuestionAnswering> task;
};

// Rows of four positions: [CLS] and the words "ab", "cd", "ef" of "ab cd ef". Neighbors of one
// question are its windows.
Batch batch_of(const TaskFixture& fixture, const std::vector<std::int32_t>& questions,
               const std::string& answers) {
  std::vector<std::int32_t> windows, counts;
  for (const std::int32_t question : questions) {
    const bool is_next = !windows.empty() && questions[windows.size() - 1] == question;
    windows.push_back(is_next ? windows.back() + 1 : 0);
    counts.push_back(static_cast<std::int32_t>(std::ranges::count(questions, question)));
  }
  const std::int64_t rows = std::ssize(questions);
  std::string contexts;
  std::vector<std::int32_t> begins, ends;
  std::vector<float> best;
  for (std::int64_t i = 0; i < rows; ++i) {
    contexts += "ab cd ef";
    begins.insert(begins.end(), {-1, 0, 3, 6});
    ends.insert(ends.end(), {-1, 2, 5, 8});
    best.insert(best.end(), {0, 1, 1, 1});
  }
  return {{"question", fixture.i32(questions, {rows})},
          {"id", fixture.u8(std::string(static_cast<std::size_t>(rows), '\0'), rows)},
          {"window", fixture.i32(windows, {rows})},
          {"windows", fixture.i32(counts, {rows})},
          {"token_begin", fixture.i32(begins, {rows, 4})},
          {"token_end", fixture.i32(ends, {rows, 4})},
          {"best_context", fixture.f32(best, {rows, 4})},
          {"context", fixture.u8(contexts, rows)},
          {"context_begin", fixture.i32(Numbers(questions.size(), 0), {rows})},
          {"answers", fixture.u8(answers, rows)}};
}

}  // namespace

TEST_CASE("the best span is in the context, in order and not too long", "[lm-answers]") {
  const std::vector<std::int32_t> begins = {-1, 0, 3, 6}, ends = {-1, 2, 5, 8};
  const std::vector<float> everywhere = {0, 1, 1, 1};
  const auto best = [&](const std::vector<float>& start, const std::vector<float>& end,
                        const lm::SpanRules& rules = {},
                        const std::vector<float>& from = {0, 1, 1, 1}) {
    return lm::best_span({start, end, begins, ends, from}, rules);
  };
  // [CLS] is the likeliest, but no part of the context.
  AnswerSpan span = best({9, 1, 2, 0}, {9, 0, 0, 5});
  CHECK((span.found && span.begin == 3 && span.end == 8));
  CHECK(span.score == 7);
  // The likeliest end is before the likeliest start: 3 + 4 beats 5 + 1.
  span = best({0, 3, 5, 0}, {0, 4, 1, 0});
  CHECK((span.begin == 0 && span.end == 2));
  span = best({9, 2, 1, 0}, {9, 0, 0, 5}, {.max_answer_length = 2});
  CHECK((span.begin == 3 && span.end == 8));
  span = best({9, 5, 1, 0}, {9, 0, 0, 5}, {}, {0, 0, 1, 1});
  CHECK(span.begin == 3);
  // Of one start and one end, both [CLS], there is none.
  CHECK_FALSE(best({9, 5, 1, 0}, {9, 0, 0, 5}, {.n_best_size = 1}).found);
  const float nan = std::nanf("");
  span = best({0, nan, 1, 0}, {0, 0, nan, 1});
  CHECK((span.found && span.begin == 3 && span.end == 8));
  // Of the likeliest start the only end is not a number.
  span = best({0, 1, 0, 5}, {0, 2, 0, nan});
  CHECK((span.found && span.begin == 0 && span.end == 2));
  CHECK_FALSE(best({nan, nan, nan, nan}, {0, 1, 1, 1}).found);
}

TEST_CASE("the model's logits are its formula in float64, with gradients", "[lm-answers]") {
  lm::BertQuestionAnsweringConfig config;
  config.vocab_size = 11;
  config.model_dims = 8;
  config.num_layers = 1;
  config.num_heads = 2;
  config.max_seq_len = 12;
  config.type_vocab_size = 2;
  config.embedding_norm_tpl = "nn/LayerNorm";
  const Tokens ids = some_tokens(6, 3, 11), types = {0, 0, 0, 1, 1, 1};
  for (const std::string& backend : backends()) {
    EncoderFixture<lm::BertQuestionAnswering> fixture(config, backend);
    const Rows both = affine(reference_encoding(fixture, ids, types, 1),
                             fixture.parameter("span/w"), fixture.parameter("span/b"));
    Row starts, ends;
    for (const Row& row : both) {
      starts.push_back(row.at(0));
      ends.push_back(row.at(1));
    }
    const Batch batch = {{"ids", fixture.ids(ids, {1, 6})},
                         {"token_type_ids", fixture.ids(types, {1, 6})}};
    CHECK(largest_error(fixture.values(batch, "start_logits"), flattened({{starts}})) < 1e-5);
    CHECK(largest_error(fixture.values(batch, "end_logits"), flattened({{ends}})) < 1e-5);
  }
  EncoderFixture<lm::BertQuestionAnswering> fixture(config);
  const Batch batch = {{"ids", fixture.ids(some_tokens(6, 4, 11), {2, 3})}};
  CHECK(fixture.gradient_check(batch, "start_logits") == "");
  CHECK(fixture.gradient_check(batch, "end_logits") == "");
  // The names of lm/Bert, whose weights it can start from.
  for (const char* name : {"embedding/table", "token_type_emb/table", "position_emb/table",
                           "embedding_norm/scale", "final_norm/scale", "span/w"}) {
    INFO(name);
    CHECK(fixture.store.find(name) != nullptr);
  }
  config.embedding_tpl = {};
  CHECK_THROWS_WITH(EncoderFixture<lm::BertQuestionAnswering>(config),
                    Contains("needs an embedding_tpl"));
}

TEST_CASE("the loss is the mean of both cross entropies, with gradients", "[lm-answers]") {
  const std::vector<float> starts = random_values(12, 1), ends = random_values(12, 2);
  const std::vector<std::int32_t> first = {0, 2, 3}, last = {1, 2, 3};
  const std::vector<float> weights = {1, 0, 1};
  double expected = 0;
  for (const std::size_t row : {0, 2}) {
    for (const bool end : {false, true}) {
      const std::vector<float>& logits = end ? ends : starts;
      double sum = 0;
      for (std::size_t i = 0; i < 4; ++i) sum += std::exp(logits[4 * row + i]);
      const auto right = static_cast<std::size_t>(end ? last[row] : first[row]);
      expected += (std::log(sum) - logits[4 * row + right]) / 4;
    }
  }
  for (const std::string& backend : backends()) {
    const TaskFixture fixture({}, backend);
    const Batch batch{{"start_positions", fixture.i32(first, {3})},
                      {"end_positions", fixture.i32(last, {3})},
                      {"weight", fixture.f32(weights, {3})}};
    const auto loss = [&](std::span<const Tensor> in) {
      return fixture.task->build_losses(batch, {{"start_logits", in[0]}, {"end_logits", in[1]}},
                                        {});
    };
    const Tensor inputs[] = {fixture.f32(starts, {3, 4}), fixture.f32(ends, {3, 4})};
    CHECK(loss(inputs).value.item() == Approx(expected).epsilon(1e-5));
    CHECK(loss(inputs).weight == 2);
    CHECK(testing::check_gradients([&](std::span<const Tensor> in) { return loss(in).value; },
                                   inputs) == "");
  }
}

TEST_CASE("an answer is the best of all windows of its question", "[lm-answers]") {
  lm::QuestionAnsweringConfig config;
  config.version_2 = true;
  const TaskFixture fixture(config);
  // Question 4 has two windows, of which the second is better; question 7 has none.
  StepOutput step;
  step.batch = batch_of(fixture, {4, 4, 7}, std::string("cd\0cd\0\0\0\0", 9));
  step.outputs = {{"start_logits", fixture.f32({0, 1, 0, 0, 1, 0, 5, 0, 8, 0, 0, 1}, {3, 4})},
                  {"end_logits", fixture.f32({0, 1, 0, 0, 1, 0, 5, 0, 8, 0, 0, 1}, {3, 4})}};
  const auto state = fixture.task->aggregate_logs(nullptr, step);
  const Logs logs = fixture.task->reduce_aggregated_logs(*state, 1);
  // Scores 2 and 10 against the smaller null score 0: "cd". For 7, 2 against 16: none.
  CHECK(*logs.find("exact_match") == 100);
  CHECK(*logs.find("HasAns_f1") == 100);
  CHECK(*logs.find("NoAns_f1") == 100);
  CHECK(*logs.find("best_exact_thresh") == -10);

  // Windows that two processes have seen add up to the same, whatever the order.
  const auto part = [&](const std::vector<float>& weights) {
    StepOutput own = step;
    own.batch.set("weight", fixture.f32(weights, {3}));
    return fixture.task->aggregate_logs(nullptr, own);
  };
  const auto first = part({0, 1, 0}), second = part({1, 0, 1});
  first->merge(second->save_state());
  const Logs merged = fixture.task->reduce_aggregated_logs(*first, 1);
  for (const auto& [name, value] : logs) CHECK(*merged.find(name) == value);
  CHECK_THROWS_WITH(first->merge(Value::table()), Contains("answers"));

  const std::vector<Value> rows = fixture.task->predictions(step.batch, step.outputs);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].is_null());
  CHECK(to_json(rows[1]) == R"({"id":null,"answer":"cd","start":3,"end":5,"score":10.0,)"
                            R"("null_score":0.0})");
  CHECK(to_json(rows[2]) == R"({"id":null,"answer":"","start":null,"end":null,"score":2.0,)"
                            R"("null_score":16.0})");
}

TEST_CASE("a question whose windows are in several batches has one prediction", "[lm-answers]") {
  const TaskFixture fixture;
  const auto predict = [&](std::int32_t window, float peak, float weight = 1) {
    Batch batch = batch_of(fixture, {3}, std::string("cd\0", 3));
    batch.set("window", fixture.i32({window}, {1}));
    batch.set("windows", fixture.i32({3}, {1}));
    batch.set("id", fixture.u8("q1", 1));
    // "\u00E9b cd" after 10 characters.
    batch.set("context", fixture.u8("\u00E9b cd", 1));
    batch.set("token_begin", fixture.i32({-1, 0, 4, -1}, {1, 4}));
    batch.set("token_end", fixture.i32({-1, 3, 6, -1}, {1, 4}));
    batch.set("context_begin", fixture.i32({10 * window}, {1}));
    batch.set("weight", fixture.f32({weight}, {1}));
    const Tensor logits = fixture.f32({1, 0, peak, 0}, {1, 4});
    const std::vector<Value> rows =
        fixture.task->predictions(batch, {{"start_logits", logits}, {"end_logits", logits}});
    REQUIRE(rows.size() == 1);
    return rows[0].is_null() ? "" : to_json(rows[0]);
  };
  CHECK(predict(0, 3).empty());
  CHECK(predict(1, 4).empty());
  CHECK(predict(1, 9, 0).empty());  // only fills its batch
  CHECK(predict(2, 2) == R"({"id":"q1","answer":"cd","start":13,"end":15,"score":8.0,)"
                         R"("null_score":2.0})");
  // A set that was cut leaves a question behind; the next one starts with a first window.
  CHECK(predict(0, 9).empty());
  CHECK(predict(0, 1).empty());
  CHECK(predict(1, 1).empty());
  CHECK_THAT(predict(2, 2), Contains(R"("start":23)"));
  const auto complaint = [&](std::int32_t window) {
    try {
      predict(window, 1);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(complaint(1), Contains("do not follow each other") && Contains("shuffle = false"));
  CHECK(predict(0, 1).empty());
  CHECK_THAT(complaint(2), Contains("do not follow each other"));
}

TEST_CASE("a task of answers says what it misses", "[lm-answers]") {
  const TaskFixture fixture;
  Batch batch = batch_of(fixture, {0, 1}, std::string("cd\0cd\0", 6));
  const Tensor logits = fixture.f32(std::vector<float>(8, 0), {2, 4}),
               few = fixture.f32(std::vector<float>(6, 0), {2, 3});
  CHECK_THROWS_WITH(
      fixture.task->build_losses(batch, {{"start_logits", logits}, {"end_logits", logits}}, {}),
      Contains("the data has no answers") && Contains("infer"));
  CHECK_THROWS_WITH(
      fixture.task->predictions(batch, {{"start_logits", logits}, {"end_logits", few}}),
      Contains("expected \"end_logits\" f32 [B, T] of the positions [2, 4]") && Contains("[2, 3]"));
}

TEST_CASE("logits that are not numbers are worse than all others", "[lm-answers]") {
  lm::QuestionAnsweringConfig config;
  config.version_2 = true;
  const TaskFixture fixture(config);
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  StepOutput step;
  step.batch = batch_of(fixture, {0, 1, 2}, std::string("cd\0cd\0cd\0", 9));
  const Tensor logits =
      fixture.f32({nan, 0, 1, 0, nan, nan, nan, nan, infinity, 0, infinity, 0}, {3, 4});
  step.outputs = {{"start_logits", logits}, {"end_logits", logits}};
  const auto state = fixture.task->aggregate_logs(nullptr, step);
  CHECK(*fixture.task->reduce_aggregated_logs(*state, 1).find("HasAns_exact") == Approx(200.0 / 3));
  const auto other = fixture.task->aggregate_logs(nullptr, step);
  other->merge(value_from_json(to_json(state->save_state()), "the state"));
  CHECK(*fixture.task->reduce_aggregated_logs(*other, 1).find("HasAns_exact") == Approx(200.0 / 3));
  const std::vector<Value> rows = fixture.task->predictions(step.batch, step.outputs);
  CHECK_THAT(to_json(rows[0]), Contains(R"("answer":"cd")") && Contains(R"("null_score":null)"));
  CHECK_THAT(to_json(rows[1]), Contains(R"("answer":"")") && Contains(R"("score":null)"));
}

TEST_CASE("untrained weights guess a position of the row", "[lm-answers]") {
  lm::QuestionAnsweringConfig config;
  CHECK(TaskFixture(config).task->expected_initial_loss().low == 0);
  config.train_input = {"data/QuestionAnswering", Value::table({{"seq_len", 128}})};
  const auto range = TaskFixture(config).task->expected_initial_loss();
  CHECK(range.low == Approx(std::log(128.0) / 2));
  CHECK(range.high == Approx(std::log(128.0) + 2));
  CHECK(range.reason == "ln(128) = 4.85 for 128 positions");
}

TEST_CASE("positions are counted, and the counts keep the promises of metrics", "[lm-answers]") {
  const TaskFixture fixture;
  const Batch batch{{"start_positions", fixture.i32({0, 1, 1}, {3})},
                    {"end_positions", fixture.i32({1, 1, 0}, {3})},
                    {"weight", fixture.f32({1, 1, 0}, {3})}};
  const NestedMap outputs{{"start_logits", fixture.f32({2, 1, 2, 1, 0, 9}, {3, 2})},
                          {"end_logits", fixture.f32({1, 2, 1, 2, 9, 0}, {3, 2})}};
  lm::PositionAccuracy metric;
  CHECK(metric.result().find("start_position_accuracy") == nullptr);
  metric.update_state(batch, outputs);
  CHECK(*metric.result().find("start_position_accuracy") == 0.5);
  CHECK(*metric.result().find("end_position_accuracy") == 1);
  Batch other = batch;
  other.set("weight", fixture.f32({0, 1, 1}, {3}));
  CHECK(testing::check_metric(
            [] { return std::make_unique<lm::PositionAccuracy>(); },
            std::vector<testing::MetricBatch>{{batch, outputs}, {other, outputs}}) == "");
}

TEST_CASE("inputs whose questions may have no answer need a task that knows", "[lm-answers]") {
  use_plugin("data");
  const TaskFixture fixture;
  InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
  const ConfigOf<Input> input("data/QuestionAnswering", Value::table({{"version_2", true}}));
  CHECK_THROWS_WITH(fixture.task->build_inputs(input, context),
                    Contains("task.eval_input.version_2") && Contains("task.version_2 = true"));
}

TEST_CASE("a threshold without version 2 is refused", "[lm-answers]") {
  lm::QuestionAnsweringConfig config;
  config.null_score_diff_threshold = 1;
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "null_score_diff_threshold");
}

}  // namespace lm_question_answering_test

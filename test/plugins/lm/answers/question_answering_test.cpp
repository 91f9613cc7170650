// SPDX-License-Identifier: Apache-2.0
// lm/QuestionAnswering: spans, losses and answers over several windows by hand, gradients.
#include "lm/answers/question_answering.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "lm/answers/position_accuracy.h"
#include "lm/answers/span_search.h"
#include "lm/models/bert_question_answering.h"
#include "plugins/lm/models/encoder_fixture.h"
#include "trivet/task.h"
#include "trivet/testing/gradient_check.h"
#include "trivet/testing/metric_check.h"

namespace lm_question_answering_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using lm::AnswerSpan;

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

// Rows of four positions: [CLS] and the words "ab", "cd", "ef" of "ab cd ef".
Batch batch_of(const TaskFixture& fixture, const std::vector<std::int32_t>& questions,
               const std::string& answers) {
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
  return {
      {"question", fixture.i32(questions, {rows})}, {"token_begin", fixture.i32(begins, {rows, 4})},
      {"token_end", fixture.i32(ends, {rows, 4})},  {"best_context", fixture.f32(best, {rows, 4})},
      {"context", fixture.u8(contexts, rows)},      {"answers", fixture.u8(answers, rows)}};
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
  CHECK(rows[1] == Value::table({{"answer", "cd"}, {"score", 10.0}, {"null_score", 2.0}}));
  CHECK(rows[2] == Value::table({{"answer", ""}, {"score", 2.0}, {"null_score", 16.0}}));
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

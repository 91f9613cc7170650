// SPDX-License-Identifier: Apache-2.0
// The next-sentence head of lm/Bert: its logits and loss in double, gradients, scores, and the loss
// of lm/MaskedLm with it.
#include "lm/models/next_sentence_head.h"

#include <cmath>
#include <numbers>

#include <catch2/catch.hpp>

#include "encoder_fixture.h"
#include "lm/metrics/next_sentence_scores.h"
#include "lm/models/bert.h"
#include "lm/models/bert_classifier.h"
#include "lm/tasks/masked_lm.h"
#include "trivet/error.h"

namespace next_sentence_head_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

constexpr std::int32_t kVocabulary = 11;
using Fixture = EncoderFixture<lm::Bert>;

lm::BertConfig pair_config() {
  lm::BertConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = 8;
  config.num_layers = 1;
  config.num_heads = 2;
  config.max_seq_len = 12;
  config.type_vocab_size = 2;
  config.embedding_norm_tpl = "nn/LayerNorm";
  config.next_sentence.enabled = true;
  return config;
}

Batch pair_batch(const Fixture& fixture) {
  return {{"ids", fixture.ids(some_tokens(12, 6, kVocabulary), {3, 4})},
          {"token_type_ids", fixture.ids({0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1}, {3, 4})},
          {"labels", fixture.ids(some_tokens(12, 7, kVocabulary), {3, 4})},
          {"weights", fixture.numbers({1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1}, {3, 4})},
          {"weight", fixture.numbers({1, 1, 0}, {3})},
          {"next_sentence_label", fixture.ids({1, 0, 1}, {3})}};
}

// -ln softmax(z)[label].
double loss_of(const Row& z, std::size_t label) {
  return std::log(std::exp(z[0]) + std::exp(z[1])) - z[label];
}

}  // namespace

TEST_CASE("the next-sentence head is two layers on one position", "[lm-encoder][slow]") {
  for (const std::string& backend : backends()) {
    for (const std::int64_t dims : {0, 5}) {
      lm::BertConfig config = pair_config();
      config.next_sentence.dims = dims;
      // The wider head has the defaults, the other one neither of them.
      const std::size_t position = dims == 0 ? 0 : 2;
      config.next_sentence.cls_token_idx = static_cast<std::int64_t>(position);
      if (position != 0) config.next_sentence.activation = "nn/Sigmoid";
      Fixture fixture(config, backend);
      INFO(backend);
      const Batch batch = pair_batch(fixture);
      const Tokens ids = some_tokens(12, 6, kVocabulary);
      const std::vector<Tokens> types = {{0, 1, 1, 1}, {0, 0, 1, 1}};
      const std::vector<float> got = fixture.values(batch, "next_sentence_logits");
      REQUIRE(got.size() == 6);
      double loss = 0;
      for (std::size_t row = 0; row < 2; ++row) {
        const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(4 * row);
        Row h = reference_encoding(fixture, Tokens(begin, begin + 4), types[row], 1)[position];
        h = affine(h, fixture.parameter("pooler/w"), fixture.parameter("pooler/b"));
        CHECK(h.size() == (dims == 0 ? 8U : 5U));
        for (double& v : h) v = position == 0 ? std::tanh(v) : 1 / (1 + std::exp(-v));
        const Row z =
            affine(h, fixture.parameter("next_sentence/w"), fixture.parameter("next_sentence/b"));
        CHECK(got[2 * row] == Approx(z[0]).margin(1e-5));
        CHECK(got[2 * row + 1] == Approx(z[1]).margin(1e-5));
        loss += loss_of(z, row == 0 ? 1 : 0) / 2;  // the third row only fills the batch
      }
      CHECK(fixture.run(batch, "next_sentence_loss").item() == Approx(loss).epsilon(1e-5));
      CHECK(fixture.gradient_check(batch, "next_sentence_loss") == "");
    }
  }
}

TEST_CASE("a head without its label is an error, except for predictions", "[lm-encoder]") {
  Fixture fixture(pair_config());
  Batch batch = pair_batch(fixture);
  batch.erase("next_sentence_label");
  CHECK_THROWS_WITH(fixture.run(batch),
                    Contains("task.model.next_sentence.enabled: is true, but the batch has no "
                             "next_sentence_label"));
  batch.erase("labels");
  CHECK(fixture.run(batch).shape() == Shape{3, 4, kVocabulary});
  CHECK(fixture.run(batch, "next_sentence_logits").shape() == Shape{3, 2});
  lm::NextSentenceConfig off;
  off.dims = 3;
  off.activation = "nn/Sigmoid";
  off.cls_token_idx = 1;
  off.dropout = 0;
  Diagnostics diagnostics;
  off.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 4);
  CHECK(diagnostics.list()[0].path == "dims");
  CHECK(diagnostics.list()[1].path == "activation");
  CHECK(diagnostics.list()[2].path == "cls_token_idx");
  CHECK(diagnostics.list()[3].path == "dropout");
  Diagnostics none;
  lm::NextSentenceConfig().validate(none);
  CHECK(none.list().empty());
}

TEST_CASE("a head's position is one of the rows", "[lm-encoder]") {
  lm::BertConfig config = pair_config();
  config.next_sentence.cls_token_idx = 4;
  Fixture fixture(config);
  CHECK_THROWS_WITH(
      fixture.run(pair_batch(fixture)),
      Contains("task.model.next_sentence.cls_token_idx: is 4; rows have 4 positions"));
}

TEST_CASE("a classifier has the weights of the next-sentence head's pooler", "[lm-encoder]") {
  const Fixture pretrained(pair_config());
  lm::BertClassifierConfig config;
  static_cast<lm::EncoderConfig&>(config) = pair_config();
  config.num_classes = 3;
  const EncoderFixture<lm::BertClassifier> classifier(config);
  for (const char* path : {"pooler/w", "pooler/b"}) {
    REQUIRE(classifier.has(path));
    CHECK(classifier.store.find(path)->shape() == pretrained.store.find(path)->shape());
  }
}

TEST_CASE("next-sentence scores are means over the rows", "[lm]") {
  const auto device = open_device("tiny/Backend");
  const auto seen = [&](const std::vector<float>& z, const Tokens& labels,
                        const std::vector<float>& weights, lm::NextSentenceScores& scores) {
    const std::int64_t rows = std::ssize(labels);
    scores.update_state(
        {{"weight", Tensor::from<float>(*device, weights, {rows})},
         {"next_sentence_label", Tensor::from<std::int32_t>(*device, labels, {rows})}},
        {{"next_sentence_logits", Tensor::from<float>(*device, z, {rows, 2})}});
  };
  lm::NextSentenceScores scores, other, restored;
  CHECK(scores.result().empty());
  seen({2, 1, 0, 3, 5, 5}, {0, 0, 1}, {1, 1, 0}, scores);
  seen({-1, 1}, {1}, {1}, other);
  restored.restore_state(scores.save_state());
  restored.merge(other.save_state());
  CHECK(*restored.result().find("next_sentence_accuracy") == Approx(2.0 / 3));
  CHECK(*restored.result().find("next_sentence_loss") ==
        Approx((loss_of({2, 1}, 0) + loss_of({0, 3}, 0) + loss_of({-1, 1}, 1)) / 3));
  // Without the head there is nothing to say.
  lm::NextSentenceScores without;
  without.update_state({}, {});
  CHECK(without.result().empty());
}

TEST_CASE("lm/MaskedLm adds the loss of the next-sentence head", "[lm]") {
  Fixture fixture(pair_config());
  TaskContext context{.device = *fixture.device, .logging_dir = {}};
  lm::MaskedLmConfig config;
  config.model = ConfigOf<Model>("lm/Bert", encode(pair_config()));
  lm::MaskedLm task(config, context);
  FpropContext step;
  const Batch batch = pair_batch(fixture);
  const NestedMap outputs = fixture.model->fprop(batch, step);
  const double xent = outputs.at("avg_xent").item();
  const double next = outputs.at("next_sentence_loss").item();
  CHECK(task.build_losses(batch, outputs, step).value.item() == Approx(xent + next));
  Logs logs;
  for (const auto& metric : task.build_metrics(Phase::evaluation)) {
    metric->update_state(batch, outputs);
    for (const auto& [name, value] : metric->result()) logs.set(name, value);
  }
  CHECK(*logs.find("next_sentence_loss") == Approx(next));
  CHECK(*logs.find("loss/next_sentence_loss") == Approx(next));
  CHECK(logs.find("next_sentence_accuracy") != nullptr);

  config.losses = {{"avg_xent"}, {"next_sentence_loss", 0.5}};
  CHECK(lm::MaskedLm(config, context).build_losses(batch, outputs, step).value.item() ==
        Approx(xent + next / 2));
  lm::BertConfig without = pair_config();
  without.next_sentence.enabled = false;
  config.losses.clear();
  config.model = ConfigOf<Model>("lm/Bert", encode(without));
  CHECK(lm::MaskedLm(config, context).build_losses(batch, outputs, step).value.item() ==
        Approx(xent));
}

}  // namespace next_sentence_head_test

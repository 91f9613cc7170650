// SPDX-License-Identifier: Apache-2.0
// lm/Electra and its task: the generator's logits and the discriminator's loss against float64, the
// distribution of the draws, gradients.
#include "lm/models/electra.h"

#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include <catch2/catch.hpp>

#include "lm/metrics/discriminator_accuracy.h"
#include "lm/tasks/replaced_token_detection.h"
#include "plugins/lm/models/encoder_fixture.h"
#include "trivet/task.h"
#include "trivet/testing/metric_check.h"

namespace lm_electra_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

constexpr std::int32_t kVocabulary = 7;

lm::ElectraConfig small_config(std::int64_t generator_dims) {
  lm::ElectraConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = 8;
  config.num_layers = 1;
  config.num_heads = 2;
  config.max_seq_len = 12;
  config.type_vocab_size = 2;
  config.embedding_norm_tpl = "nn/LayerNorm";
  config.generator_dims = generator_dims;
  return config;
}

using Fixture = EncoderFixture<lm::Electra>;

// The generator's weights by the names of an encoder, and its embeddings after the projection.
struct Generator {
  bool has(const std::string& path) const {
    return !(projected && path.starts_with("embedding_projection/")) &&
           fixture.has("generator/" + path);
  }
  std::vector<float> parameter(const std::string& path) const {
    if (path != "embedding/table") return fixture.parameter("generator/" + path);
    const std::vector<float> table = fixture.parameter(path);
    if (!projected) return table;
    Tokens all(kVocabulary);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
    std::vector<float> rows;
    for (const Row& row :
         affine(rows_of_table(table, all, 8), fixture.parameter("generator/embedding_projection/w"),
                fixture.parameter("generator/embedding_projection/b"))) {
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }
  Weights below(const std::string& path) const {
    return [this, path](const std::string& name) { return parameter(path + "/" + name); };
  }
  const Fixture& fixture;
  bool projected;
};

// The logits of the generator for each position.
Rows generator_logits(const Fixture& fixture, const Tokens& ids, bool projected) {
  const Generator generator{fixture, projected};
  Rows h = reference_encoding(generator, ids, Tokens(ids.size(), 0), 1);
  h = gelu(affine(h, fixture.parameter("generator/mlm_dense/w"),
                  fixture.parameter("generator/mlm_dense/b")));
  h = layer_norm(h, fixture.parameter("generator/mlm_norm/scale"),
                 fixture.parameter("generator/mlm_norm/bias"));
  return tied_logits(h, fixture.parameter("embedding/table"), fixture.parameter("embedding/b"));
}

// The discriminator's logit for each position of x.
std::vector<double> discriminator_logits(const Fixture& fixture, const Tokens& x) {
  Rows h = reference_encoding(fixture, x, Tokens(x.size(), 0), 1);
  h = gelu(affine(h, fixture.parameter("discriminator_dense/w"),
                  fixture.parameter("discriminator_dense/b")));
  std::vector<double> z;
  for (const Row& row : affine(h, fixture.parameter("discriminator_logit/w"),
                               fixture.parameter("discriminator_logit/b"))) {
    z.push_back(row.at(0));
  }
  return z;
}

// Six tokens, of which the second, third and fifth are masked by token 6.
struct Masked {
  Tokens ids = {1, 6, 6, 4, 6, 3}, labels = {1, 2, 5, 4, 0, 3};
  std::vector<float> weights = {0, 1, 1, 0, 1, 0};
  Batch batch(const Fixture& fixture) const {
    return {{"ids", fixture.ids(ids, {1, 6})},
            {"labels", fixture.ids(labels, {1, 6})},
            {"weights", fixture.numbers(weights, {1, 6})},
            {"paddings", fixture.numbers({0, 0, 0, 0, 0, 0}, {1, 6})}};
  }
};

}  // namespace

TEST_CASE("both encoders widen embeddings of another depth", "[lm-electra]") {
  for (const std::string& backend : backends()) {
    lm::ElectraConfig config = small_config(4);
    config.embedding_dims = 6;
    Fixture fixture(config, backend);
    const Tokens ids = some_tokens(6, 3, kVocabulary);
    INFO(backend);
    CHECK(fixture.store.find("embedding/table")->shape() == Shape{kVocabulary, 6});
    CHECK(fixture.store.find("generator/mlm_dense/w")->shape() == Shape{4, 6});
    CHECK(largest_error(fixture.values({{"ids", fixture.ids(ids, {1, 6})}}),
                        flattened({generator_logits(fixture, ids, false)})) < 1e-5);
    const Masked masked;
    const Tensor x = fixture.run(masked.batch(fixture), "x");
    const auto z = fixture.values(masked.batch(fixture), "discriminator_logits");
    const auto want = discriminator_logits(fixture, x.to_host<std::int32_t>());
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(z[i] == Approx(want[i]).margin(1e-5));
  }
}

TEST_CASE("the generator is an encoder of its own over the same embeddings", "[lm-electra]") {
  for (const std::string& backend : backends()) {
    for (const std::int64_t dims : {0, 4}) {
      Fixture fixture(small_config(dims), backend);
      const Tokens ids = some_tokens(6, 3, kVocabulary);
      CHECK(largest_error(fixture.values({{"ids", fixture.ids(ids, {1, 6})}}),
                          flattened({generator_logits(fixture, ids, dims > 0)})) < 1e-5);
    }
  }
}

TEST_CASE("the discriminator's loss is its formula in float64", "[lm-electra]") {
  const Masked masked;
  for (const std::string& backend : backends()) {
    Fixture fixture(small_config(4), backend);
    FpropContext context;
    context.train = true;
    const NestedMap outputs = fixture.model->fprop(masked.batch(fixture), context);
    const Tokens x = outputs.at("x").to_host<std::int32_t>();
    const std::vector<double> z = discriminator_logits(fixture, x);
    double loss = 0, generator = 0;
    const Rows logits = generator_logits(fixture, masked.ids, true);
    for (std::size_t i = 0; i < 6; ++i) {
      if (masked.weights[i] == 0) CHECK(x[i] == masked.labels[i]);
      const bool replaced = x[i] != masked.labels[i];
      CHECK(outputs.at("replaced").to_host<float>()[i] == (replaced ? 1.0F : 0.0F));
      loss += std::log1p(std::exp(z[i])) - (replaced ? z[i] : 0);
      if (masked.weights[i] == 0) continue;
      double sum = 0;
      for (const double logit : logits[i]) sum += std::exp(logit);
      generator += std::log(sum) - logits[i][static_cast<std::size_t>(masked.labels[i])];
    }
    CHECK(outputs.at("discriminator_loss").item() == Approx(loss / 6).epsilon(1e-5));
    CHECK(outputs.at("avg_xent").item() == Approx(generator / 3).epsilon(1e-5));

    // Padding does not count.
    Batch shorter = masked.batch(fixture);
    shorter.set("paddings", fixture.numbers({0, 0, 0, 0, 0, 1}, {1, 6}));
    const NestedMap less = fixture.model->fprop(shorter, context);
    const std::vector<float> told = less.at("discriminator_logits").to_host<float>();
    double mean = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      const bool replaced = less.at("x").to_host<std::int32_t>()[i] != masked.labels[i];
      mean += (std::log1p(std::exp(told[i])) - (replaced ? told[i] : 0)) / 5;
    }
    CHECK(less.at("discriminator_loss").item() == Approx(mean).epsilon(1e-5));
  }
}

TEST_CASE("the generator's tokens are drawn from its softmax", "[lm-electra][slow]") {
  const Masked masked;
  Fixture fixture(small_config(0));
  const Rows logits = generator_logits(fixture, masked.ids, false);
  double sum = 0;
  for (const double logit : logits[1]) sum += std::exp(logit);
  constexpr int kDraws = 2000;
  std::map<std::int32_t, int> counts;
  for (std::uint64_t step = 0; step < kDraws; ++step) {
    FpropContext context;
    context.train = true;
    context.key = RngKey(5).fold(step);
    const Tensor x = fixture.model->fprop(masked.batch(fixture), context).at("x");
    ++counts[x.to_host<std::int32_t>()[1]];
    // A draw depends on the key alone.
    if (step == 0) {
      CHECK(fixture.model->fprop(masked.batch(fixture), context).at("x").to_host<std::int32_t>() ==
            x.to_host<std::int32_t>());
    }
  }
  // Pearson's chi-square: above 22.46 by chance once in 1000 for 6 degrees of freedom.
  double chi = 0;
  for (std::int32_t id = 0; id < kVocabulary; ++id) {
    const double expected = kDraws * std::exp(logits[1][static_cast<std::size_t>(id)]) / sum;
    chi += (counts[id] - expected) * (counts[id] - expected) / expected;
  }
  CHECK(chi < 22.46);
}

TEST_CASE("the gradients of Electra match central differences", "[lm-electra][slow]") {
  const Masked masked;
  Fixture fixture(small_config(4));
  CHECK(fixture.gradient_check(masked.batch(fixture), "avg_xent") == "");
  CHECK(fixture.gradient_check(masked.batch(fixture), "discriminator_loss") == "");
}

TEST_CASE("a text without masks has nothing to draw", "[lm-electra]") {
  Fixture fixture(small_config(0));
  Masked masked;
  masked.weights.assign(6, 0);
  FpropContext context;
  const NestedMap outputs = fixture.model->fprop(masked.batch(fixture), context);
  CHECK(outputs.at("x").to_host<std::int32_t>() == masked.labels);
  CHECK(outputs.at("avg_xent").item() == 0);
}

TEST_CASE("replaced token detection weighs the discriminator's loss", "[lm-electra]") {
  const Masked masked;
  Fixture fixture(small_config(0));
  lm::ReplacedTokenDetectionConfig config;
  config.discriminator_weight = 3;
  TaskContext task_context{*fixture.device, {}};
  lm::ReplacedTokenDetection task(config, task_context);
  FpropContext context;
  const Batch batch = masked.batch(fixture);
  const NestedMap outputs = fixture.model->fprop(batch, context);
  CHECK(task.build_losses(batch, outputs, {}).value.item() ==
        Approx(outputs.at("avg_xent").item() + 3 * outputs.at("discriminator_loss").item()));
  const Metrics metrics = task.build_metrics(Phase::evaluation);
  Logs logs;
  for (const auto& metric : metrics) {
    metric->update_state(batch, outputs);
    logs.merge(metric->result());
  }
  for (const char* name : {"masked_lm_accuracy", "loss/discriminator_loss", "replaced_tokens"}) {
    CHECK(logs.find(name) != nullptr);
  }
  const auto expected = task.expected_initial_loss();
  CHECK(expected.low >= 3 * std::numbers::ln2 / 2);
}

TEST_CASE("the discriminator's accuracy counts tokens without padding", "[lm-electra]") {
  const Fixture fixture(small_config(0));
  const NestedMap outputs{{"discriminator_logits", fixture.numbers({1, -1, 2, -2, 3, 3}, {2, 3})},
                          {"replaced", fixture.numbers({1, 1, 0, 0, 1, 1}, {2, 3})}};
  const Batch batch{{"paddings", fixture.numbers({0, 0, 0, 0, 0, 1}, {2, 3})},
                    {"weight", fixture.numbers({1, 1}, {2})}};
  lm::DiscriminatorAccuracy metric;
  metric.update_state(batch, outputs);
  // Right: the first, fourth and fifth of five; replaced: the first, second and fifth.
  CHECK(*metric.result().find("discriminator_accuracy") == Approx(0.6));
  CHECK(*metric.result().find("replaced_tokens") == Approx(0.6));
  Batch first = batch;
  first.set("weight", fixture.numbers({1, 0}, {2}));
  metric.reset_state();
  metric.update_state(first, outputs);
  CHECK(*metric.result().find("discriminator_accuracy") == Approx(1.0 / 3));
  CHECK(testing::check_metric(
            [] { return std::make_unique<lm::DiscriminatorAccuracy>(); },
            std::vector<testing::MetricBatch>{{batch, outputs}, {first, outputs}}) == "");
}

TEST_CASE("heads that do not divide the generator are refused", "[lm-electra]") {
  auto config = small_config(5);
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "generator_dims");
}

}  // namespace lm_electra_test

// SPDX-License-Identifier: Apache-2.0
// Softmax heads against their formulas in double, and weights shared with the embedding.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/softmax_head.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/testing/layer_check.h"

namespace nn_softmax_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::SoftmaxHead;
using trivet::SoftmaxLoss;
using trivet::Tensor;
using trivet::Value;
using trivet::test::affine;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using trivet::test::Row;
using trivet::test::Rows;

constexpr double kTolerance = 2e-5;
constexpr std::size_t kDims = 4, kClasses = 7, kRows = 6;
const std::vector<std::int32_t> kLabels{0, 6, 3, 3, 1, 5};
const std::vector<float> kWeights{1, 1, 0, 0.5F, 1, 1};

struct Extras {
  double cap = 0, smoothing = 0, z_loss = 0;
  bool scaled = false;
};

class Head : public LayerFixture {
 public:
  Head(const std::string& backend, const std::string& key,
       std::initializer_list<std::pair<std::string_view, Value>> more)
      : LayerFixture(backend, {key, fields(more)}) {
    if (store().find("layer/b") != nullptr) set("b", random_values(kClasses, 9));
  }

  static Value fields(std::initializer_list<std::pair<std::string_view, Value>> more) {
    Value all = Value::table({{"input_dims", kDims}, {"num_classes", kClasses}});
    for (const auto& [name, value] : more) all.set(name, value);
    return all;
  }

  SoftmaxHead& head() const { return trivet::softmax_head(layer(), "layer"); }
  Tensor labels(const std::vector<std::int32_t>& values = kLabels) const {
    return Tensor::from<std::int32_t>(device(), values, {2, 3});
  }
  Tensor weights(const std::vector<float>& values = kWeights) const {
    return tensor(values, {2, 3});
  }
  Tensor h() const { return tensor(random_values(kRows * kDims, 3), {2, 3, kDims}); }
  SoftmaxLoss loss(bool train, const std::vector<float>& counted = kWeights) const {
    FpropContext context;
    context.train = train;
    return head().loss(h(), labels(), weights(counted), context, {.argmax = true});
  }

  // [in, classes] for either layout of the layer.
  std::vector<float> matrix() const {
    if (store().find("layer/w") != nullptr) return values("w");
    const std::vector<float> table = values("table");
    std::vector<float> w(table.size());
    for (std::size_t c = 0; c < kClasses; ++c) {
      for (std::size_t d = 0; d < kDims; ++d) w[d * kClasses + c] = table[c * kDims + d];
    }
    return w;
  }

  Rows wanted_logits(const Extras& extras) const {
    const bool biased = store().find("layer/b") != nullptr;
    const std::vector<float> x = random_values(kRows * kDims, 3);
    Rows rows;
    for (std::size_t r = 0; r < kRows; ++r) {
      Row in(x.begin() + static_cast<std::ptrdiff_t>(r * kDims),
             x.begin() + static_cast<std::ptrdiff_t>((r + 1) * kDims));
      for (double& v : in) v *= extras.scaled ? 0.5 : 1;  // 1 / sqrt(kDims)
      rows.push_back(affine(in, matrix(), biased ? values("b") : std::vector<float>()));
      if (extras.cap == 0) continue;
      for (double& v : rows.back()) v = extras.cap * std::tanh(v / extras.cap);
    }
    return rows;
  }

  // Praxis' formula, row by row.
  std::vector<double> wanted_losses(const Extras& extras) const {
    std::vector<double> losses;
    for (const Row& logits : wanted_logits(extras)) {
      const auto label = static_cast<std::size_t>(kLabels[losses.size()]);
      double total = 0, loss = 0;
      for (const double v : logits) total += std::exp(v);
      const double lse = std::log(total), others = extras.smoothing / (kClasses - 1);
      for (std::size_t c = 0; c < kClasses; ++c) {
        loss += (c == label ? 1 - extras.smoothing : others) * (lse - logits[c]);
      }
      losses.push_back(loss + extras.z_loss * lse * lse);
    }
    return losses;
  }

  void check(bool train, const Extras& extras) const {
    const SoftmaxLoss got = loss(train);
    const std::vector<double> want = wanted_losses(extras);
    CHECK(largest_error(got.per_example_xent.to_host<float>(), want) < kTolerance);
    double total = 0, weight = 0;
    for (std::size_t r = 0; r < kRows; ++r) {
      total += static_cast<double>(kWeights[r]) * want[r];
      weight += static_cast<double>(kWeights[r]);
    }
    CHECK(static_cast<double>(got.total_xent.item()) == Approx(total).epsilon(kTolerance));
    CHECK(static_cast<double>(got.total_weight.item()) == weight);
    CHECK(static_cast<double>(got.avg_xent.item()) == Approx(total / weight).epsilon(kTolerance));
    std::vector<std::int32_t> best;
    for (const Row& row : wanted_logits(extras)) {
      best.push_back(
          static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    }
    CHECK(got.per_example_argmax.shape() == trivet::Shape{2, 3});
    CHECK(got.per_example_argmax.to_host<std::int32_t>() == best);
    FpropContext context;
    const Tensor logits = head().logits(h(), context);
    CHECK(logits.shape() == trivet::Shape{2, 3, kClasses});
    CHECK(largest_error(logits.to_host<float>(), trivet::test::flattened({wanted_logits(extras)})) <
          kTolerance);
  }
};

// The training loss as a function of h, to check its gradients.
class TrainingLoss final : public trivet::Layer {
 public:
  explicit TrainingLoss(const Head& head) : head_(head) {}
  Tensor fprop(const Tensor& h, FpropContext& context) override {
    return head_.head().loss(h, head_.labels(), head_.weights(), context, {}).avg_xent;
  }

 private:
  const Head& head_;
};

}  // namespace

TEST_CASE("softmax heads return logits and the loss of the labels") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::string key = GENERATE("nn/FullSoftmax", "nn/SharedEmbeddingSoftmax");
  const bool bias = GENERATE(true, false);
  INFO(backend << " " << key << " " << bias);
  for (const bool train : {true, false}) {
    Head(backend, key, {{"has_bias", bias}}).check(train, {});
    Head(backend, key,
         {{"has_bias", bias}, {"soft_cap_logits", 0.75}, {"scale_before_logits", true}})
        .check(train, {.cap = 0.75, .scaled = true});
  }
  const Head trained(backend, key,
                     {{"has_bias", bias}, {"label_smoothing_prob", 0.15}, {"z_loss_weight", 0.01}});
  trained.check(true, {.smoothing = 0.15, .z_loss = 0.01});
  trained.check(false, {});
  Head(backend, key,
       {{"has_bias", bias},
        {"label_smoothing_prob", 0.15},
        {"label_smoothing_apply_for_eval", true}})
      .check(false, {.smoothing = 0.15});
}

TEST_CASE("a total weight of 0 gives a loss of 0") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Head head(backend, "nn/FullSoftmax", {});
  const SoftmaxLoss loss = head.loss(true, std::vector<float>(kRows, 0));
  CHECK(loss.total_xent.item() == 0);
  CHECK(loss.total_weight.item() == 0);
  CHECK(loss.avg_xent.item() == 0);
}

TEST_CASE("gradients of softmax losses match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::string key = GENERATE("nn/FullSoftmax", "nn/SharedEmbeddingSoftmax");
  const Head head(backend, key,
                  {{"has_bias", true},
                   {"label_smoothing_prob", 0.1},
                   {"z_loss_weight", 0.01},
                   {"soft_cap_logits", 3.0}});
  TrainingLoss loss(head);
  trivet::testing::LayerCheckOptions options;
  options.train = true;
  CHECK(trivet::testing::check_layer_gradients(loss, head.store(), head.h(), options) == "");
}

TEST_CASE("an embedding that is shared is looked up, scaled and trained from both ends") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Head head(backend, "nn/SharedEmbeddingSoftmax", {{"scale_sqrt_depth", true}});
  CHECK(head.store().parameters().size() == 1);
  REQUIRE(head.head().has_embedding());
  FpropContext context;
  const Tensor rows = head.head().emb_lookup(head.labels(), context);
  CHECK(rows.shape() == trivet::Shape{2, 3, kDims});
  const std::vector<float> table = head.values("table");
  std::vector<float> want;
  for (const std::int32_t id : kLabels) {
    for (std::size_t d = 0; d < kDims; ++d) {
      want.push_back(2 * table[static_cast<std::size_t>(id) * kDims + d]);
    }
  }
  CHECK(rows.to_host<float>() == want);
  CHECK(head.fprop(head.labels()).to_host<float>() == want);

  // The gradient of a loss of looked-up rows is that of both uses together.
  class Tied final : public trivet::Layer {
   public:
    explicit Tied(const Head& head) : head_(head) {}
    Tensor fprop(const Tensor& ids, FpropContext& context) override {
      const Tensor h = head_.head().emb_lookup(ids, context);
      return head_.head().loss(h, head_.labels(), head_.weights(), context, {}).total_xent;
    }

   private:
    const Head& head_;
  };
  Tied tied(head);
  CHECK(trivet::testing::check_layer_gradients(tied, head.store(),
                                               head.labels({1, 2, 3, 3, 5, 6})) == "");
}

TEST_CASE("chunks of rows give the result of all rows together") {
  const Head head(trivet::test::backends().back(), "nn/FullSoftmax", {});
  constexpr std::int64_t rows = 1100;
  std::vector<std::int32_t> labels(rows, 2);
  const Tensor h = head.tensor(random_values(rows * kDims, 8), {rows, kDims});
  FpropContext context;
  const SoftmaxLoss loss =
      head.head().loss(h, Tensor::from<std::int32_t>(head.device(), labels, {rows}),
                       Tensor::full(head.device(), {rows}, 1), context, {.argmax = true});
  CHECK(loss.per_example_argmax.to_host<std::int32_t>() ==
        trivet::ops::argmax(head.fprop(h), -1).to_host<std::int32_t>());
}

TEST_CASE("softmax heads report mismatched inputs") {
  const Head full("tiny/Backend", "nn/FullSoftmax", {});
  FpropContext context;
  CHECK_THROWS_WITH(full.head().emb_lookup(full.labels(), context),
                    Contains("'layer': has no embedding"));
  CHECK_FALSE(full.head().has_embedding());
  CHECK_THROWS_WITH(full.fprop(Tensor::zeros(full.device(), {2, 3})),
                    Contains("[nn/FullSoftmax] 'layer': expected [.., 4]"));
  CHECK_THROWS_WITH(
      full.head().loss(full.h(), full.labels({0, 1, 2, 3, 4, 7}), full.weights(), context, {}),
      Contains("7"));
  const Head shared("tiny/Backend", "nn/SharedEmbeddingSoftmax", {});
  CHECK_THROWS_WITH(shared.head().emb_lookup(shared.h(), context), Contains("ids of type i32"));
  const LayerFixture linear("tiny/Backend",
                            {"nn/Linear", Value::table({{"input_dims", 2}, {"output_dims", 2}})});
  CHECK_THROWS_WITH(trivet::softmax_head(linear.layer(), "lm/softmax"),
                    Contains("'lm/softmax' is no softmax head"));
  CHECK_THROWS_WITH(
      Head("tiny/Backend", "nn/FullSoftmax", {{"num_classes", 1}, {"label_smoothing_prob", 0.1}}),
      Contains("label_smoothing_prob") && Contains("num_classes is 1"));
}

}  // namespace nn_softmax_test

// SPDX-License-Identifier: Apache-2.0
// The softmax of GShard against Praxis' formula in double.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/softmax_head.h"
#include "trivet/testing/layer_check.h"

namespace nn_gshard_softmax_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::SoftmaxHead;
using trivet::SoftmaxLoss;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;

constexpr double kTolerance = 2e-5;
constexpr std::size_t kDims = 4, kClasses = 7, kRows = 6;
const std::vector<std::int32_t> kLabels{0, 6, 3, 3, 1, 5};
const std::vector<float> kWeights{1, 1, 0, 0.5F, 1, 0};

class Head : public LayerFixture {
 public:
  Head(const std::string& backend, std::initializer_list<std::pair<std::string_view, Value>> more)
      : LayerFixture(backend, {"nn/GShardSharedEmbeddingSoftmax", fields(more)}) {}

  static Value fields(std::initializer_list<std::pair<std::string_view, Value>> more) {
    Value all = Value::table({{"input_dims", kDims}, {"num_classes", kClasses}});
    for (const auto& [name, value] : more) all.set(name, value);
    return all;
  }
  SoftmaxHead& head() const { return trivet::softmax_head(layer(), "layer"); }
  Tensor labels() const { return Tensor::from<std::int32_t>(device(), kLabels, {2, 3}); }
  Tensor weights() const { return tensor(kWeights, {2, 3}); }
  Tensor h() const { return tensor(random_values(kRows * kDims, 3, 2), {2, 3, kDims}); }
  SoftmaxLoss loss(bool train) const {
    FpropContext context;
    context.train = train;
    return head().loss(h(), labels(), weights(), context, {.argmax = true});
  }
};

struct Terms {
  double cap = 0, clip = 0, smoothing = 0, z_loss = 0;
  bool count_all = true;
};

// Checks logits and the loss of every row and of all rows.
void check(const Head& head, bool train, const Terms& terms) {
  const std::vector<float> x = random_values(kRows * kDims, 3, 2), table = head.values("table");
  std::vector<double> all_logits, losses;
  std::vector<std::int32_t> best;
  double total = 0, weight = 0;
  for (std::size_t r = 0; r < kRows; ++r) {
    std::vector<double> logits(kClasses, 0.0);
    for (std::size_t c = 0; c < kClasses; ++c) {
      for (std::size_t d = 0; d < kDims; ++d) {
        logits[c] +=
            static_cast<double>(x[r * kDims + d]) * 0.5 * static_cast<double>(table[c * kDims + d]);
      }
      if (terms.cap > 0) logits[c] = terms.cap * std::tanh(logits[c] / terms.cap);
      if (terms.clip > 0) logits[c] = std::clamp(logits[c], -terms.clip, terms.clip);
    }
    double sum = 0, loss = 0;
    for (const double v : logits) sum += std::exp(v);
    const double lse = std::log(sum), off = terms.smoothing / kClasses;
    for (std::size_t c = 0; c < kClasses; ++c) {
      const bool right = static_cast<std::int32_t>(c) == kLabels[r];
      loss += (right ? 1 - terms.smoothing + off : off) * (lse - logits[c]);
    }
    losses.push_back(loss + terms.z_loss * lse * lse);
    total += static_cast<double>(kWeights[r]) * losses.back();
    weight += terms.count_all ? 1 : static_cast<double>(kWeights[r]);
    best.push_back(
        static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    all_logits.insert(all_logits.end(), logits.begin(), logits.end());
  }
  const SoftmaxLoss got = head.loss(train);
  CHECK(largest_error(got.per_example_xent.to_host<float>(), losses) < kTolerance);
  CHECK(static_cast<double>(got.total_xent.item()) == Approx(total).epsilon(kTolerance));
  CHECK(static_cast<double>(got.total_weight.item()) == weight);
  CHECK(static_cast<double>(got.avg_xent.item()) == Approx(total / weight).epsilon(kTolerance));
  CHECK(got.per_example_argmax.to_host<std::int32_t>() == best);
  CHECK(largest_error(head.fprop(head.h()).to_host<float>(), all_logits) < kTolerance);
}

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

TEST_CASE("GShard's softmax scales, caps and clips, and counts all labels") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const bool train : {true, false}) {
    check(Head(backend, {}), train, {});
    check(Head(backend, {{"soft_cap_logits", 1.5}}), train, {.cap = 1.5});
    check(Head(backend, {{"logits_abs_max", 0.75}}), train, {.clip = 0.75});
    check(Head(backend, {{"soft_cap_logits", 1.5}, {"logits_abs_max", 0.75}}), train,
          {.cap = 1.5, .clip = 0.75});
    check(Head(backend, {{"use_tgt_labels_size_as_loss_denominator", false}}), train,
          {.count_all = false});
  }
}

TEST_CASE("GShard's label smoothing and z-loss are for training") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const double clip : {0.0, 0.75}) {
    const Head head(
        backend,
        {{"label_smoothing_prob", 0.2}, {"z_loss_weight", 0.01}, {"logits_abs_max", clip}});
    check(head, true, {.clip = clip, .smoothing = 0.2, .z_loss = 0.01});
    check(head, false, {.clip = clip});
  }
}

TEST_CASE("GShard's table starts with a deviation of 1 and is looked up as it is") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture large(backend, {"nn/GShardSharedEmbeddingSoftmax",
                                     Value::table({{"input_dims", 100}, {"num_classes", 100}})});
  double square = 0;
  for (const float v : large.values("table")) square += static_cast<double>(v) * double{v};
  CHECK(std::sqrt(square / 10000) == Approx(1).epsilon(0.03));
  const Head head(backend, {});
  CHECK(head.store().parameters().size() == 1);
  const std::vector<float> table = head.values("table");
  std::vector<float> want;
  for (const std::int32_t id : kLabels) {
    const auto at = table.begin() + static_cast<std::ptrdiff_t>(id) * kDims;
    want.insert(want.end(), at, at + kDims);
  }
  REQUIRE(head.head().has_embedding());
  CHECK(head.fprop(head.labels()).to_host<float>() == want);
}

TEST_CASE("gradients of GShard's softmax match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const double clip : {0.0, 1.0}) {
    const Head head(backend, {{"label_smoothing_prob", 0.1},
                              {"z_loss_weight", 0.01},
                              {"soft_cap_logits", 3.0},
                              {"logits_abs_max", clip}});
    TrainingLoss loss(head);
    trivet::testing::LayerCheckOptions options;
    options.train = true;
    CHECK(trivet::testing::check_layer_gradients(loss, head.store(), head.h(), options) == "");
  }
}

TEST_CASE("GShard's softmax reports missing sizes and mismatched inputs") {
  CHECK_THROWS_WITH(Head("tiny/Backend", {{"num_classes", 0}}),
                    Contains("'layer': num_classes is not set"));
  const Head head("tiny/Backend", {});
  FpropContext context;
  CHECK_THROWS_WITH(head.head().emb_lookup(head.h(), context), Contains("ids of type i32"));
  CHECK_THROWS_WITH(head.fprop(Tensor::zeros(head.device(), {2, 3})),
                    Contains("[nn/GShardSharedEmbeddingSoftmax] 'layer': expected [.., 4]"));
}

}  // namespace nn_gshard_softmax_test

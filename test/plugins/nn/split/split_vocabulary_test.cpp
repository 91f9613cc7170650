// SPDX-License-Identifier: Apache-2.0
// Embedding and softmax heads whose classes are split over mdl.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/nn/split/splits.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/softmax_head.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/testing/layer_check.h"

namespace nn_vocabulary_split_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

constexpr std::int64_t kClasses = 12, kDims = 6;
const std::vector<std::int32_t> kIds{0, 11, 5, 3, 3, 7, 6, 10};
const std::vector<std::int32_t> kLabels{4, 11, -1, 3, 0, 7, 6, 2};
const std::vector<float> kWeights{1, 0.5F, 1, 1, 0, 2, 1, 1};

Value mapping(const char* first, const char* second) {
  return Value::table({{"wt", Value::array({first, second})}});
}

ConfigOf<Layer> table(const std::string& key, const Value& mapping,
                      std::int64_t classes = kClasses) {
  return {key, Value::table({{"num_classes", classes},
                             {"input_dims", kDims},
                             {"weight_split_dims_mapping", mapping}})};
}

struct HeadCase {
  std::string name;
  ConfigOf<Layer> config;
};

std::vector<HeadCase> heads() {
  const Value pax = mapping("data", "mdl");
  const ConfigOf<Layer> full = table("nn/FullSoftmax", pax);
  const ConfigOf<Layer> shared = table("nn/SharedEmbeddingSoftmax", pax);
  const ConfigOf<Layer> gshard = table("nn/GShardSharedEmbeddingSoftmax", mapping("mdl", "data"));
  const auto all = [](const ConfigOf<Layer>& head) {
    return with_field(
        with_field(with_field(head, "soft_cap_logits", 2.0), "label_smoothing_prob", 0.1),
        "z_loss_weight", 0.01);
  };
  return {{"FullSoftmax", full},
          {"no bias", with_field(full, "has_bias", false)},
          {"all options", all(full)},
          {"scaled", with_field(full, "scale_before_logits", true)},
          {"shared", shared},
          {"shared, with a bias", with_field(all(shared), "has_bias", true)},
          {"GShard", all(gshard)},
          {"GShard, clipped", with_field(gshard, "logits_abs_max", 0.25)}};
}

struct HeadFixture : LayerFixture {
  HeadFixture(const std::string& backend, const ConfigOf<Layer>& config, std::int64_t mdl,
              ProcessGroup* group = nullptr)
      : LayerFixture(backend, config, mdl, group) {
    if (store().find("layer/b") != nullptr) set("b", random_values(kClasses, 9));
  }

  SoftmaxHead& head() const { return softmax_head(layer(), "layer"); }
  Tensor ids(const std::vector<std::int32_t>& values) const {
    return Tensor::from<std::int32_t>(device(), values, {2, 4});
  }
  // The rows of ids go through the head. Gradients are those of the loss, and of the logits.
  Computed compute(bool train) const {
    FpropContext context;
    context.train = train;
    GradientSlot slot;
    const Tensor h = make_leaf(tensor(random_values(8 * kDims, 3), {2, 4, kDims}), slot);
    store().begin_gradients();
    Tape tape;
    Tensor total;
    Computed out;
    {
      const Tape::Recording recording(tape);
      Tensor x = h;
      if (head().has_embedding()) x = ops::add(x, head().emb_lookup(ids(kIds), context));
      const SoftmaxLoss loss =
          head().loss(x, ids(kLabels), tensor(kWeights, {2, 4}), context, {.argmax = true});
      const Tensor logits = head().logits(x, context);
      total = ops::add(loss.avg_xent, ops::mean(ops::square(logits)));
      out.y = logits.to_host<float>();
      for (const float row : loss.per_example_xent.to_host<float>()) out.y.push_back(row);
      for (const std::int32_t best : loss.per_example_argmax.to_host<std::int32_t>()) {
        out.y.push_back(static_cast<float>(best));
      }
    }
    tape.backward(total);
    store().end_gradients();
    out.gradients["h"] = slot.gradient.to_host<float>();
    for (const auto& parameter : store().parameters()) {
      out.gradients[parameter->path()] = parameter->gradient().to_host<float>();
    }
    return out;
  }
};

struct Looked {
  std::vector<float> rows, gradient;
};

Looked look_up(const std::string& backend, const ConfigOf<Layer>& config, std::int64_t mdl) {
  const LayerFixture fixture(backend, config, mdl);
  FpropContext context;
  fixture.store().begin_gradients();
  Tape tape;
  Tensor rows, loss;
  {
    const Tape::Recording recording(tape);
    rows =
        fixture.layer().fprop(Tensor::from<std::int32_t>(fixture.device(), kIds, {2, 4}), context);
    loss = ops::sum(ops::square(rows));
  }
  tape.backward(loss);
  fixture.store().end_gradients();
  return {rows.to_host<float>(), fixture.parameter("table").gradient().to_host<float>()};
}

std::string error_of(const ConfigOf<Layer>& config, std::int64_t mdl) {
  try {
    const LayerFixture fixture("tiny/Backend", config, mdl);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a head of classes in blocks computes what the whole one does", "[slow]") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const HeadCase& head : heads()) {
    for (const bool train : {true, false}) {
      const Computed whole = HeadFixture(backend, head.config, 1).compute(train);
      for (const std::int64_t mdl : {2, 3, 4, 12}) {
        INFO(head.name << " on " << backend << ", devices: " << mdl << ", training: " << train);
        const HeadFixture split(backend, head.config, mdl);
        CHECK(split.store().parameters().front()->blocks() == mdl);
        const Computed one = split.compute(train);
        check_equal(one, whole);
        check_processes(mdl, one, [&](ProcessGroup& group) {
          return HeadFixture(backend, head.config, mdl, &group).compute(train);
        });
      }
    }
  }
}

TEST_CASE("logits of classes in blocks match central differences") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const HeadCase& head : heads()) {
    if (head.name == "GShard, clipped") continue;  // its slope jumps where it clips
    INFO(head.name);
    const HeadFixture split(backend, head.config, 3);
    CHECK(testing::check_layer_gradients(split.layer(), split.store(),
                                         split.tensor(random_values(18, 3), {3, kDims})) == "");
  }
}

TEST_CASE("a table in blocks has the rows and gradients of the whole one, in all bits") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const Value& split : {mapping("mdl", "data"), mapping("data", "mdl")}) {
    const ConfigOf<Layer> config = table("nn/Embedding", split);
    const Looked whole = look_up(backend, config, 1);
    for (const std::int64_t mdl : {2, 3}) {
      CHECK(LayerFixture(backend, config, mdl).parameter("table").blocks() == mdl);
      const Looked blocks = look_up(backend, config, mdl);
      CHECK(blocks.rows == whole.rows);
      CHECK(blocks.gradient == whole.gradient);
    }
  }
}

TEST_CASE("a vocabulary that the devices do not divide is refused, unless it may stay whole") {
  for (const char* key : {"nn/FullSoftmax", "nn/SharedEmbeddingSoftmax"}) {
    INFO(key);
    CHECK_THAT(error_of(table(key, mapping("data", "mdl"), 10), 4),
               Contains("task.model: 'layer': weight_split_dims_mapping.wt splits dimension 1 of "
                        "[6, 10] over the 4 devices along mdl, which do not divide it"));
    CHECK(error_of(table(key, mapping("data", "mdl?"), 10), 4) == "no error");
    CHECK_THAT(error_of(table(key, mapping("mdl", "data")), 2),
               Contains("'layer': weight_split_dims_mapping.wt splits input_dims over mdl, but a "
                        "softmax is split by classes") &&
                   Contains("name mdl in the entry of num_classes"));
  }
  for (const char* key : {"nn/Embedding", "nn/GShardSharedEmbeddingSoftmax"}) {
    INFO(key);
    CHECK_THAT(error_of(table(key, mapping("mdl", "data"), 10), 4),
               Contains("splits dimension 0 of [10, 6] over the 4 devices"));
    CHECK(error_of(table(key, mapping("mdl?", "data"), 10), 4) == "no error");
    CHECK_THAT(error_of(table(key, Value::table({{"wt", Value::array({"mdl"})}})), 1),
               Contains("weight_split_dims_mapping.wt: has 1 entries for 2 dimensions"));
  }
}

}  // namespace nn_vocabulary_split_test

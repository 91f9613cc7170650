// SPDX-License-Identifier: Apache-2.0
// Losses that are sums of a model's outputs.
#include <catch2/catch.hpp>

#include "lm/tasks/loss_terms.h"
#include "lm/tasks/masked_lm.h"
#include "support/plugins.h"
#include "trivet/error.h"

using namespace trivet;
using namespace trivet::lm;
using Catch::Contains;

namespace {

NestedMap outputs_of(Device& device, float xent, float other, float weight) {
  return {{"avg_xent", Tensor::scalar(device, xent)},
          {"head/other", Tensor::scalar(device, other)},
          {"per_example_xent", Tensor::zeros(device, {2, 3})},
          {"total_weight", Tensor::scalar(device, weight)}};
}

}  // namespace

TEST_CASE("losses are the sum of their terms, and of the auxiliary ones", "[lm]") {
  const auto device = test::open_device(test::backends().back());
  TaskContext context{.device = *device, .logging_dir = {}};
  MaskedLmConfig config;
  FpropContext step;
  step.aux_losses.set("experts", Tensor::scalar(*device, 0.25F));
  const NestedMap outputs = outputs_of(*device, 2, 3, 6);

  const WeightedScalar loss = MaskedLm(config, context).build_losses({}, outputs, step);
  CHECK(loss.value.item() == 2.25F);
  CHECK(loss.weight == 6);
  config.losses = {{"avg_xent"}, {"head/other", 0.5}};
  CHECK(MaskedLm(config, context).build_losses({}, outputs, step).value.item() == 3.75F);
  CHECK(MaskedLm(config, context).build_metrics(Phase::training).size() == 2);

  config.losses = {{"other"}};
  CHECK_THROWS_WITH(MaskedLm(config, context).build_losses({}, outputs, step),
                    Contains("task.losses: the model returns no scalar 'other'"));
  config.losses = {{"per_example_xent"}};
  try {
    MaskedLm(config, context).build_losses({}, outputs, step);
    FAIL("a loss that is no scalar was taken");
  } catch (const UsageError& error) {
    CHECK(error.hint() == "the model returns avg_xent, head/other, total_weight");
  }
}

TEST_CASE("the terms of a loss are reported as weighted means", "[lm]") {
  const auto device = test::open_device(test::backends().back());
  const std::vector<LossTerm> terms = {{"avg_xent"}, {"head/other", 0.5}};
  LossTermMeans means(terms);
  CHECK(means.result().empty());
  means.update_state({}, outputs_of(*device, 2, 3, 6));
  means.update_state({}, outputs_of(*device, 5, 9, 2));
  means.update_state({}, outputs_of(*device, 100, 100, 0));
  LossTermMeans restored(terms);
  restored.restore_state(means.save_state());
  for (const LossTermMeans* each : {&means, &restored}) {
    CHECK(*each->result().find("loss/avg_xent") == Approx((2 * 6 + 5 * 2) / 8.0));
    CHECK(*each->result().find("loss/head/other") == Approx((3 * 6 + 9 * 2) / 8.0));
  }
  means.reset_state();
  CHECK(means.result().empty());
  LossTermMeans fewer({{"avg_xent"}});
  CHECK_THROWS_WITH(fewer.restore_state(restored.save_state()), Contains("other task.losses"));
}

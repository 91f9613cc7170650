// SPDX-License-Identifier: Apache-2.0
// What trivet/layer/softmax_head.h shows: the end of a language model.
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/layer.h>
#include <trivet/layer/softmax_head.h>

#include "fixtures.h"

namespace softmax_head_example {

using namespace trivet;

namespace {

struct HeadConfig {
  ConfigOf<Layer> softmax_tpl;
};

// Three classes, and weights of 0: every class has the same probability.
Value fields() {
  return Value::table({{"input_dims", 4},
                       {"num_classes", 3},
                       {"init", Value::table({{"method", "constant"}, {"scale", 0}})}});
}

// The loss of labels 1, 2, 0, with or without an embedding beside the head.
enum class Embedding { of_its_own, of_the_head };

float loss_of(const HeadConfig& config, Embedding embedding) {
  const auto device = snippets::open_device();
  snippets::use_plugin("nn");
  ParameterStore store(*device, RngKey(1));
  Scope scope(store);
  // [make]
  std::shared_ptr<Layer> layer = scope.layer("softmax", config.softmax_tpl);
  SoftmaxHead& head = softmax_head(*layer, "softmax");  // Error where it is none
  // [/make]
  const auto table = embedding == Embedding::of_its_own
                         ? scope.layer("embedding", {"nn/Embedding", fields()})
                         : nullptr;
  const auto decoder = scope.layer("decoder", "nn/Tanh");
  store.build();
  FpropContext context;
  const Tensor ids = Tensor::from<std::int32_t>(*device, std::vector{0, 1, 2}, {3});
  const Batch batch{
      {"labels", Tensor::from<std::int32_t>(*device, std::vector{1, 2, 0}, {3})},
      {"weights", Tensor::full(*device, {3}, 1)},
  };
  // [use]
  Tensor x = head.has_embedding() ? head.emb_lookup(ids, context) : table->fprop(ids, context);
  Tensor h = decoder->fprop(x, context);
  SoftmaxLoss loss = head.loss(h, batch.at("labels"), batch.at("weights"), context, {});
  Tensor logits = head.logits(h, context);  // for decoding
  // [/use]
  CHECK(logits.shape() == Shape{3, 3});
  return loss.avg_xent.item();
}

}  // namespace

TEST_CASE("example: a softmax head gives a loss and logits, and may hold the embedding") {
  CHECK(loss_of({.softmax_tpl = {"nn/FullSoftmax", fields()}}, Embedding::of_its_own) ==
        Approx(std::log(3.0)));
  CHECK(loss_of({.softmax_tpl = {"nn/SharedEmbeddingSoftmax", fields()}}, Embedding::of_the_head) ==
        Approx(std::log(3.0)));
  CHECK_THROWS_WITH(loss_of({.softmax_tpl = "nn/Relu"}, Embedding::of_its_own),
                    Catch::Contains("softmax"));
}

}  // namespace softmax_head_example

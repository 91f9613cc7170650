// SPDX-License-Identifier: Apache-2.0
// What trivet/layer/extend_step.h shows: a sequence in chunks, with a cache.
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/layer.h>
#include <trivet/layer/extend_step.h>
#include <trivet/ops.h>

#include "fixtures.h"

namespace decoding_example {

using namespace trivet;

TEST_CASE("example: a sequence in chunks gives what the whole of it gives") {
  const auto device = snippets::open_device();
  snippets::use_plugin("nn");
  constexpr std::int64_t batch = 2, max_length = 4, dims = 4;
  ParameterStore store(*device, RngKey(1));
  const auto layer = Scope(store).layer(
      "decoder", {"nn/MultiHeadAttention",
                  Value::table({{"input_dims", dims}, {"num_heads", 2}, {"causal", true}})});
  store.build();
  std::vector<float> values(batch * max_length * dims);
  random_normal(RngKey(2), 0, 1, values);
  const Tensor whole = Tensor::from<float>(*device, values, {batch, max_length, dims});
  const Tensor prompt = ops::slice(whole, 1, 0, 3), next = ops::slice(whole, 1, 3, 4);
  FpropContext context;
  // [decoding]
  auto cache = make_cache(*layer, "decoder", batch, max_length);
  Tensor y = extend_step(*layer, prompt, cache.get(), context);  // [B, n, ..]
  y = extend_step(*layer, next, cache.get(), context);           // [B, 1, ..]
  // [/decoding]
  CHECK(y.shape() == Shape{batch, 1, dims});
  const auto last = ops::slice(layer->fprop(whole, context), 1, 3, 4).to_host<float>();
  const auto stepped = y.to_host<float>();
  for (std::size_t i = 0; i < last.size(); ++i) CHECK(stepped[i] == Approx(last[i]).margin(1e-5));
}

}  // namespace decoding_example

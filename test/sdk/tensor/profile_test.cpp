// SPDX-License-Identifier: Apache-2.0
// A profile sees each kernel with its layer, pass and work, spans of all threads, and changes no
// result.
#include "trivet/tensor/profile.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/layer_trace.h"
#include "trivet/layer/scope.h"
#include "trivet/ops.h"
#include "trivet/ops/ops_vision.h"
#include "trivet/tape.h"

namespace profile_test {

using namespace trivet;

namespace {

Tensor random(Device& device, const Shape& shape, std::uint64_t seed) {
  return Tensor::from<float>(device, test::random_values(shape.size(), seed), shape);
}

const Profile::Kernel* find(const Profile& profile, std::string_view name, bool gradient = false) {
  const auto found = std::ranges::find_if(profile.kernels(), [&](const Profile::Kernel& kernel) {
    return kernel.name == name && kernel.gradient == gradient;
  });
  return found == profile.kernels().end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("kernels have their work, and begin one after another") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const auto device = test::open_device(backend);
  const Tensor x = random(*device, {6, 4}, 1), w = random(*device, {4, 3}, 2);
  const std::vector<float> plain = ops::linear(x, w).to_host<float>();
  Profile profile(*device);
  CHECK(ops::linear(x, w).to_host<float>() == plain);
  const Tensor sum = ops::add(x, x);
  const Tensor rows = ops::gather_rows(
      w, Tensor::from<std::int32_t>(*device, std::vector<std::int32_t>{3, 0}, {2}));
  double end = 0;
  REQUIRE(profile.kernels().size() >= 3);
  for (const Profile::Kernel& kernel : profile.kernels()) {
    CHECK(kernel.begin >= end);
    CHECK(kernel.seconds > 0);
    CHECK_FALSE(kernel.gradient);
    CHECK(kernel.scope == 0);
    end = kernel.begin + kernel.seconds;
  }
  CHECK(profile.seconds() >= end);
  const Profile::Kernel* product = find(profile, "linear_fwd");
  if (product == nullptr) product = find(profile, "matmul");
  REQUIRE(product != nullptr);
  CHECK(product->flops == 2 * 6 * 4 * 3);
  CHECK(product->bytes == 4 * (6 * 4 + 4 * 3 + 6 * 3));
  const Profile::Kernel* binary = find(profile, "binary");
  REQUIRE(binary != nullptr);
  CHECK(binary->flops == 24);
  CHECK(binary->bytes == 3 * 24 * 4);
  const Profile::Kernel* gather = find(profile, "gather_rows");
  REQUIRE(gather != nullptr);
  CHECK(gather->bytes == 4 * (6 + 6 + 2));  // two rows of three, not the whole table
}

TEST_CASE("attention counts the pairs that see each other") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const auto device = test::open_device(backend);
  bool is_fused = true;
  const auto flops_of = [&](const ops::AttentionOptions& options) {
    const Tensor q = random(*device, {2, 5, 4, 8}, 1), k = random(*device, {2, 5, 2, 8}, 2);
    Profile profile(*device);
    ops::attention(q, k, k, options);
    const Profile::Kernel* kernel = find(profile, "attention_fwd");
    is_fused = kernel != nullptr;
    if (is_fused) return kernel->flops;
    double products = 0;
    for (const Profile::Kernel& each : profile.kernels()) {
      if (each.name == "matmul") products += each.flops;
    }
    return products;
  };
  // Two products of 2 batches, 4 heads and 8 features, two operations a term.
  const double pair = 2 * 2 * (2 * 4 * 8);
  CHECK(flops_of({}) == pair * 25);
  if (!is_fused) return;  // products of all pairs
  CHECK(flops_of({.causal = true}) == pair * (1 + 2 + 3 + 4 + 5));
  CHECK(flops_of({.causal = true, .window = 2}) == pair * (1 + 2 + 2 + 2 + 2));
}

TEST_CASE("a convolution is seen, also as a kernel outside of the table") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const auto device = test::open_device(backend);
  const Tensor x = random(*device, {2, 5, 5, 3}, 1), w = random(*device, {3, 3, 3, 4}, 2);
  const std::vector<float> plain = ops::conv2d(x, w, {}, {}).to_host<float>();
  {
    Profile profile(*device);
    CHECK(ops::conv2d(x, w, {}, {}).to_host<float>() == plain);
    double flops = 0;
    for (const Profile::Kernel& kernel : profile.kernels()) {
      if (kernel.name == "conv2d_fwd" || kernel.name == "matmul") flops += kernel.flops;
    }
    CHECK(flops == 2 * 2 * 5 * 5 * (3 * 3 * 3) * 4);
  }
  CHECK(ops::conv2d(x, w, {}, {}).to_host<float>() == plain);  // the table is the backend's again
}

TEST_CASE("kernels of the backward pass have the layer of the forward pass") {
  test::use_plugin("nn");
  const auto device = test::open_device("tiny/Backend");
  ParameterStore store(*device, RngKey(5));
  Scope root(store);
  LayerTrace trace;
  const auto layer = root.layer(
      "first", ConfigOf<Layer>("nn/Linear", Value::table({{"input_dims", 3}, {"output_dims", 2}})));
  store.build();
  const Tensor x = random(*device, {4, 3}, 3);
  FpropContext context;
  Profile profile(*device);
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    loss = ops::mean(ops::square(layer->fprop(x, context)));
  }
  store.begin_gradients();
  tape.backward(loss);
  store.end_gradients();
  const std::vector<std::string> scopes = Profile::scopes();
  int forward = 0, backward = 0, outside = 0;
  for (const Profile::Kernel& kernel : profile.kernels()) {
    REQUIRE(kernel.scope < scopes.size());
    if (scopes[kernel.scope] == "first") ++(kernel.gradient ? backward : forward);
    if (kernel.scope == 0) ++outside;
  }
  INFO("forward " << forward << ", backward " << backward << ", outside " << outside);
  CHECK(forward >= 1);
  CHECK(backward >= 1);
  CHECK(outside >= 2);  // the mean of the squares
}

TEST_CASE("spans come from any thread, and cost nothing without a profile") {
  const auto device = test::open_device("tiny/Backend");
  { const ProfileSpan unheard("before"); }
  const ProfileSpan begun_before("early");
  Profile profile(*device);
  CHECK_THROWS_WITH(Profile(*device), "there is a profile already");
  { const ProfileSpan own("own"); }
  std::thread([] { const ProfileSpan other("other"); }).join();
  const std::vector<Profile::Span> spans = profile.spans();
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].name == "own");
  CHECK(spans[0].thread == 0);
  CHECK(spans[1].name == "other");
  CHECK(spans[1].thread == 1);
  CHECK(spans[1].begin >= spans[0].begin);
  CHECK(spans[0].seconds >= 0);
}

}  // namespace profile_test

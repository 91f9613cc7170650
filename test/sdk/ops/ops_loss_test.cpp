// SPDX-License-Identifier: Apache-2.0
// Softmax cross entropy, alone and with its classifier.
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "sdk/ops/row_loss.h"
#include "trivet/error.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;

std::vector<double> row(const Array& x, std::int64_t i) {
  const auto width = static_cast<std::size_t>(x.dim(-1));
  const auto begin =
      x.values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * width);
  return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

const ops::CrossEntropyOptions kLosses[] = {{0, 0}, {0.1F, 0}, {0, 0.01F}, {0.2F, 0.02F}};

}  // namespace

TEST_CASE("softmax cross entropy follows its formula and leaves out negative targets", "[ops]") {
  for (const auto& options : kLosses) {
    check({.name = "softmax_cross_entropy",
           .inputs = {{{2, 4, 7}, -3, 3}, {{2, 4}, -2, 7, DType::i32}},
           .op = [=](auto in) { return ops::softmax_cross_entropy(in[0], in[1], options); },
           .reference =
               [=](auto in) {
                 return filled({2, 4}, [&](Indices i) {
                   return row_loss(row(in[0], i[0] * 4 + i[1]),
                                   static_cast<std::int64_t>(in[1].at(i)), options);
                 });
               }});
  }
}

// Logits 0 .. 3 plus an offset that f32 adds exactly, label 3.
TEST_CASE("cross entropy keeps its digits at large logits", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    for (const float offset : {0.0F, 1e3F, 1e4F, 1e5F, 1e6F, -1e6F}) {
      for (const auto& options : {kLosses[0], kLosses[1]}) {
        INFO(backend.name << ", offset " << offset << ", smoothing " << options.label_smoothing);
        const auto device = open(backend);
        const std::vector<float> values{offset, offset + 1, offset + 2, offset + 3};
        const std::vector<std::int32_t> three{3};
        const Tensor targets = Tensor::from<std::int32_t>(*device, three, {1});
        const double want = row_loss({0, 1, 2, 3}, 3, {options.label_smoothing, 0});
        GradientSlot slot, head;
        const Tensor logits = make_leaf(Tensor::from<float>(*device, values, {1, 4}), slot);
        const Tensor w = make_leaf(Tensor::from<float>(*device, values, {1, 4}), head);
        const Tensor one = Tensor::full(*device, {1, 1}, 1);
        Tape tape;
        Tensor loss, fused;
        {
          Tape::Recording recording(tape);
          const ops::CrossEntropyOptions plain{options.label_smoothing, 0};
          loss = ops::softmax_cross_entropy(logits, targets, plain);
          fused = ops::linear_cross_entropy(one, w, targets, Tensor::full(*device, {1}, 1),
                                            {.loss = plain})
                      .loss;
        }
        CHECK(loss.item() == Approx(want).epsilon(1e-6));
        CHECK(fused.item() == Approx(want).epsilon(1e-6));
        Tensor total;
        {
          Tape::Recording recording(tape);
          total = ops::add(ops::sum(loss), fused);
        }
        tape.backward(total);
        const double sum = 1 + std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
        for (std::size_t c = 0; c < 4; ++c) {
          const double hit = c == 3 ? 1 - static_cast<double>(options.label_smoothing) : 0;
          const double want_c = std::exp(static_cast<double>(c)) / sum - hit -
                                static_cast<double>(options.label_smoothing) / 4;
          CHECK(slot.gradient.to_host<float>()[c] == Approx(want_c).margin(3e-7));
          CHECK(head.gradient.to_host<float>()[c] == Approx(want_c).margin(3e-7));
        }
      }
    }
  }
}

TEST_CASE("the loss of equal logits is the logarithm of their number", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const Tensor targets = Tensor::zeros(*device, {1}, DType::i32);
    const Tensor loss = ops::softmax_cross_entropy(Tensor::full(*device, {1, 10}, 50), targets);
    CHECK(loss.item() == Approx(2.302585).epsilon(1e-6));
  }
}

TEST_CASE("an invalid target is an error that names its row", "[ops]") {
  const auto device = open_any();
  const std::vector<std::int32_t> targets{0, 3};
  const Tensor wrong = Tensor::from<std::int32_t>(*device, targets, {2});
  CHECK_THROWS_WITH(ops::softmax_cross_entropy(Tensor::zeros(*device, {2, 3}), wrong),
                    Catch::Contains("targets below 3") && Catch::Contains("3 in row 1"));
  CHECK_THROWS_WITH(ops::softmax_cross_entropy(Tensor::zeros(*device, {3, 3}), wrong),
                    Catch::Contains("targets i32 [3]"));
}

// Negative targets are ignored; every device must detect the 3, also in memory that the host cannot
// access.
TEST_CASE("an invalid target is an error on every backend", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const Tensor logits = Tensor::zeros(*device, {2, 3}), weight = Tensor::full(*device, {2}, 1);
    const auto loss_of = [&](std::vector<std::int32_t> classes) {
      const Tensor targets = Tensor::from<std::int32_t>(*device, classes, {2});
      return ops::softmax_cross_entropy(logits, targets).to_host<float>();
    };
    CHECK(loss_of({2, -7}) == std::vector<float>{std::log(3.0F), 0});
    CHECK_THROWS_WITH(loss_of({2, 3}), Catch::Contains("3"));
    CHECK_THROWS_WITH(loss_of({std::numeric_limits<std::int32_t>::max(), -1}),
                      Catch::Contains("2147483647"));
    const std::vector<std::int32_t> wrong{-1, 3};
    const Tensor targets = Tensor::from<std::int32_t>(*device, wrong, {2});
    CHECK_THROWS_AS(ops::linear_cross_entropy(Tensor::zeros(*device, {2, 4}),
                                              Tensor::zeros(*device, {4, 3}), targets, weight),
                    Error);
  }
}

TEST_CASE("the fused classifier equals linear and softmax cross entropy", "[ops]") {
  for (const bool transposed : {false, true}) {
    for (const float softcap : {0.0F, 2.0F}) {
      for (const auto& options : {kLosses[0], kLosses[3]}) {
        check(
            {.name = "linear_cross_entropy",
             .inputs = {{{6, 4}, -1, 1},
                        {transposed ? Shape{7, 4} : Shape{4, 7}, -1, 1},
                        {{6}, -1, 7, DType::i32},
                        {{6}, 0, 2}},
             .op =
                 [=](auto in) {
                   return ops::linear_cross_entropy(
                              in[0], in[1], in[2], ops::stop_gradient(in[3]),
                              {.transpose_w = transposed, .loss = options, .softcap = softcap})
                       .loss;
                 },
             .reference =
                 [=](auto in) {
                   double total = 0;
                   for (std::int64_t r = 0; r < 6; ++r) {
                     std::vector<double> logits(7, 0.0);
                     for (std::int64_t c = 0; c < 7; ++c) {
                       double& z = logits[static_cast<std::size_t>(c)];
                       for (std::int64_t k = 0; k < 4; ++k) {
                         z += in[0].at({r, k}) * (transposed ? in[1].at({c, k}) : in[1].at({k, c}));
                       }
                       if (softcap > 0) z = softcap * std::tanh(z / softcap);
                     }
                     const auto target = static_cast<std::int64_t>(in[2].at({r}));
                     total += in[3].at({r}) * row_loss(logits, target, options);
                   }
                   return Array{{}, {total}};
                 },
             .differentiable = false});
      }
    }
  }
}

TEST_CASE("the fused classifier has the gradients of its loss", "[ops]") {
  for (const bool transposed : {false, true}) {
    check({.name = "linear_cross_entropy",
           .inputs = {{{3, 4}, -1, 1},
                      {transposed ? Shape{5, 4} : Shape{4, 5}, -1, 1},
                      {{3}, -1, 5, DType::i32}},
           .op =
               [=](auto in) {
                 const Tensor weights = Tensor::full(in[0].device(), {3}, 0.5);
                 return ops::linear_cross_entropy(in[0], in[1], in[2], weights,
                                                  {.transpose_w = transposed, .softcap = 3})
                     .loss;
               },
           .reference =
               [=](auto in) {
                 double total = 0;
                 for (std::int64_t r = 0; r < 3; ++r) {
                   std::vector<double> logits(5, 0.0);
                   for (std::int64_t c = 0; c < 5; ++c) {
                     double& z = logits[static_cast<std::size_t>(c)];
                     for (std::int64_t k = 0; k < 4; ++k) {
                       z += in[0].at({r, k}) * (transposed ? in[1].at({c, k}) : in[1].at({k, c}));
                     }
                     z = 3 * std::tanh(z / 3);
                   }
                   total += 0.5 * row_loss(logits, static_cast<std::int64_t>(in[2].at({r})), {});
                 }
                 return Array{{}, {total}};
               }});
  }
}

TEST_CASE("the fused classifier computes no unneeded gradient", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    std::vector<float> h(600 * 3), w(3 * 4);
    random_uniform(RngKey(1), -1, 1, h);
    random_uniform(RngKey(2), -1, 1, w);
    const Tensor x = Tensor::from<float>(*device, h, {600, 3});
    const Tensor weights = Tensor::from<float>(*device, w, {3, 4});
    const Tensor targets = Tensor::full(*device, {600}, 2, DType::i32);
    struct Seen {
      std::vector<float> loss, dx, dw;
      double flops;
    };
    const auto run = [&](bool for_x, bool for_w) {
      GradientSlot dx, dw;
      const double before = device->flops();
      Tape tape;
      ops::LinearCrossEntropy out;
      {
        Tape::Recording recording(tape);
        out = ops::linear_cross_entropy(for_x ? make_leaf(x, dx) : x,
                                        for_w ? make_leaf(weights, dw) : weights, targets,
                                        Tensor::full(*device, {600}, 0.5F));
      }
      if (for_x || for_w) tape.backward(out.loss);
      return Seen{
          out.per_row.to_host<float>(), for_x ? dx.gradient.to_host<float>() : std::vector<float>(),
          for_w ? dw.gradient.to_host<float>() : std::vector<float>(), device->flops() - before};
    };
    const Seen both = run(true, true), neither = run(false, false), only_x = run(true, false),
               only_w = run(false, true);
    CHECK(only_x.dx == both.dx);
    CHECK(only_w.dw == both.dw);
    CHECK(neither.loss == both.loss);
    CHECK(only_x.loss == both.loss);
    CHECK(only_w.loss == both.loss);
    const double product = 2.0 * 600 * 3 * 4;
    CHECK(only_x.flops - neither.flops == Approx(both.flops - neither.flops - product));
    CHECK(only_w.flops - neither.flops == Approx(both.flops - neither.flops - product));
    // A backend that has the kernel is called for any outputs.
    for (const KernelUse& use : device->kernel_uses()) {
      if (use.kernel != "linear_xent") continue;
      INFO(use.native << " native, " << use.fallback << " composed");
      CHECK((use.native == 4) != (use.fallback == 4));
    }
  }
}

TEST_CASE("the fused classifier gives the same result over several chunks of rows", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    std::vector<float> h(1200 * 3), w(3 * 4);
    random_uniform(RngKey(1), -1, 1, h);
    random_uniform(RngKey(2), -1, 1, w);
    std::vector<std::int32_t> targets(1200);
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<std::int32_t>(i % 4);
    const Tensor x = Tensor::from<float>(*device, h, {1200, 3});
    const Tensor weights = Tensor::from<float>(*device, w, {3, 4});
    const Tensor wanted = Tensor::from<std::int32_t>(*device, targets, {1200});
    const Tensor loss = ops::softmax_cross_entropy(ops::matmul(x, weights), wanted);
    const auto fused =
        ops::linear_cross_entropy(x, weights, wanted, Tensor::full(*device, {1200}, 1));
    CHECK(fused.loss.item() == Approx(ops::sum(loss).item()).epsilon(1e-5));
    const std::vector<float> rows = fused.per_row.to_host<float>(),
                             expected = loss.to_host<float>();
    for (std::size_t i = 0; i < rows.size(); i += 97) {
      CHECK(rows[i] == Approx(expected[i]).margin(1e-5));
    }
  }
}

}  // namespace trivet::test

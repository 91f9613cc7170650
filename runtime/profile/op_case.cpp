// SPDX-License-Identifier: Apache-2.0
#include "profile/op_case.h"

#include <memory>

#include "trivet/ops.h"
#include "trivet/ops/ops_norm.h"
#include "trivet/ops/ops_vision.h"
#include "trivet/recurrent/gru.h"
#include "trivet/recurrent/lstm.h"
#include "trivet/tensor/random.h"
#include "trivet/train/optim_update.h"

namespace trivet {
namespace {

const OpDef kRead = {"read", [](Vjp&) {}};

// An activation: its gradient belongs to the op before, and is not copied to the leaf.
Tensor read(const Tensor& leaf) {
  Tensor x = ops::stop_gradient(leaf);
  record(kRead, {leaf}, x);
  return x;
}

std::function<Tensor()> matmul(Operands& o, std::int64_t m, std::int64_t k, std::int64_t n) {
  const Tensor a = o.leaf({m, k}), b = o.leaf({k, n});
  return [=] { return ops::matmul(read(a), b); };
}

std::function<Tensor()> linear(Operands& o, std::int64_t rows, std::int64_t in, std::int64_t out,
                               Activation activation) {
  const Tensor x = o.leaf({rows, in}), w = o.leaf({in, out}), b = o.leaf({out});
  return [=] { return ops::linear(read(x), w, b, activation); };
}

// A row for a token that is generated, without gradient.
std::function<Tensor()> row(Operands& o, std::int64_t in, std::int64_t out) {
  const Tensor x = o.values({1, in}), w = o.values({in, out}), b = o.values({out});
  return [=] { return ops::linear(x, w, b); };
}

std::function<Tensor()> attention(Operands& o, std::int64_t batch, std::int64_t time,
                                  std::int64_t heads, std::int64_t key_heads, std::int64_t depth) {
  const Tensor q = o.leaf({batch, time, heads, depth}), k = o.leaf({batch, time, key_heads, depth});
  const Tensor v = o.leaf({batch, time, key_heads, depth});
  return [=] { return ops::attention(read(q), read(k), read(v), {.causal = true}); };
}

std::function<Tensor()> query(Operands& o, std::int64_t keys, std::int64_t heads,
                              std::int64_t depth) {
  const Tensor q = o.values({1, 1, heads, depth}), k = o.values({1, keys, heads, depth});
  const Tensor v = o.values({1, keys, heads, depth});
  return [=] { return ops::attention(q, k, v, {.causal = true, .q_offset = keys - 1}); };
}

std::function<Tensor()> head(Operands& o, std::int64_t rows, std::int64_t in,
                             std::int64_t classes) {
  const Tensor h = o.leaf({rows, in}), w = o.leaf({classes, in});
  const Tensor targets = o.indices({rows}, classes);
  const Tensor weights = Tensor::full(o.device(), {rows}, 1.0 / static_cast<double>(rows));
  return [=] {
    return ops::linear_cross_entropy(read(h), w, targets, weights, {.transpose_w = true}).loss;
  };
}

std::function<Tensor()> convolution(Operands& o, std::int64_t batch, std::int64_t size,
                                    std::int64_t in, std::int64_t out, std::int64_t kernel,
                                    std::int64_t stride) {
  const Tensor x = o.leaf({batch, size, size, in}), w = o.leaf({kernel, kernel, in, out});
  return [=] { return ops::conv2d(read(x), w, {}, {.stride = {stride, stride}}); };
}

// Images get no gradient.
std::function<Tensor()> first_convolution(Operands& o, std::int64_t batch, std::int64_t size,
                                          std::int64_t in, std::int64_t out, std::int64_t kernel) {
  const Tensor x = o.values({batch, size, size, in}), w = o.leaf({kernel, kernel, in, out});
  return [=] { return ops::conv2d(x, w); };
}

std::function<Tensor()> adam(Operands& o, std::int64_t n) {
  const auto segment = std::make_shared<OptimizerSegment>();
  segment->value = o.values({n}), segment->gradient = o.values({n});
  segment->slots = {Tensor::zeros(o.device(), {n}), Tensor::zeros(o.device(), {n})};
  tv_optim update = {};
  update.struct_size = sizeof update, update.kind = TV_ADAM;
  update.grad_scale = 1, update.lr = update.step_size = 1e-3f, update.v_scale = 1;
  update.beta1 = 0.9f, update.beta2 = 0.999f, update.epsilon = 1e-8f, update.weight_decay = 0.1f;
  return [=] {
    optim_update(update, *segment);
    return Tensor();
  };
}

// An op of one operand.
template <typename F>
std::function<Tensor()> unary(Operands& o, const Shape& shape, F f) {
  const Tensor x = o.leaf(shape);
  return [=] { return f(read(x)); };
}

}  // namespace

Tensor Operands::values(const Shape& shape) {
  std::vector<float> numbers(static_cast<std::size_t>(shape.size()));
  random_uniform(RngKey(++seed_), -1, 1, numbers);
  return Tensor::from<float>(device_, numbers, shape);
}

Tensor Operands::leaf(const Shape& shape) {
  return make_leaf(values(shape), slots_.emplace_back());
}

Tensor Operands::indices(const Shape& shape, std::int64_t limit) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(shape.size()));
  std::int64_t next = 0;
  for (std::int32_t& number : numbers) {
    next = (next + 7919) % limit;
    number = static_cast<std::int32_t>(next);
  }
  return Tensor::from<std::int32_t>(device_, numbers, shape);
}

void Operands::clear_gradients() {
  for (GradientSlot& slot : slots_) slot.written = false;
}

std::vector<OpCase> op_cases() {
  return {
      {"matmul", "1024 x 1024 x 1024", [](auto& o) { return matmul(o, 1024, 1024, 1024); }},
      {"linear", "1024 x 768 x 3072, gelu",
       [](auto& o) { return linear(o, 1024, 768, 3072, Activation::gelu_tanh); }},
      {"linear", "1024 x 3072 x 768",
       [](auto& o) { return linear(o, 1024, 3072, 768, Activation::none); }},
      {"linear", "1 x 768 x 3072", [](auto& o) { return row(o, 768, 3072); }},
      {"linear_cross_entropy", "1024 x 384 x 8192",
       [](auto& o) { return head(o, 1024, 384, 8192); }},
      {"attention", "4 x 256 x 12 x 64, causal",
       [](auto& o) { return attention(o, 4, 256, 12, 12, 64); }},
      {"attention", "2 x 512 x 8 x 64, 2 key heads, causal",
       [](auto& o) { return attention(o, 2, 512, 8, 2, 64); }},
      {"attention", "1 query, 1024 keys x 12 x 64", [](auto& o) { return query(o, 1024, 12, 64); }},
      {"rope", "4 x 256 x 12 x 64",
       [](auto& o) {
         const Tensor positions = o.indices({4, 256}, 256);
         return unary(o, {4, 256, 12, 64},
                      [=](const Tensor& x) { return ops::rope(x, positions); });
       }},
      {"layer_norm", "1024 x 768",
       [](auto& o) {
         const Tensor gamma = o.leaf({768}), beta = o.leaf({768});
         return unary(o, {1024, 768},
                      [=](const Tensor& x) { return ops::layer_norm(x, gamma, beta, 1e-5f); });
       }},
      {"rms_norm", "1024 x 768",
       [](auto& o) {
         const Tensor gamma = o.leaf({768});
         return unary(o, {1024, 768},
                      [=](const Tensor& x) { return ops::rms_norm(x, gamma, 1e-6f); });
       }},
      {"softmax", "1024 x 1024",
       [](auto& o) {
         return unary(o, {1024, 1024}, [](const Tensor& x) { return ops::softmax(x); });
       }},
      {"gather_rows", "1024 of 8192 x 384",
       [](auto& o) {
         const Tensor rows = o.indices({1024}, 8192);
         const Tensor table = o.leaf({8192, 384});
         return [=] { return ops::gather_rows(table, rows); };
       }},
      {"lstm", "32 x 64 x 512",
       [](auto& o) {
         const Tensor w = o.leaf({512, 2048});
         return unary(o, {32, 64, 2048}, [=](const Tensor& x) { return ops::lstm(x, w).h; });
       }},
      {"gru", "32 x 64 x 512",
       [](auto& o) {
         const GruWeights weights = {o.leaf({512, 1536}), o.leaf({512})};
         return unary(o, {32, 64, 1536}, [=](const Tensor& x) { return ops::gru(x, weights); });
       }},
      {"conv2d", "64 x 28 x 28 x 1 to 32, 3 x 3",
       [](auto& o) { return first_convolution(o, 64, 28, 1, 32, 3); }},
      {"conv2d", "64 x 14 x 14 x 32 to 64, 3 x 3",
       [](auto& o) { return convolution(o, 64, 14, 32, 64, 3, 1); }},
      {"conv2d", "64 x 14 x 14 x 32 to 64, 3 x 3, stride 2",
       [](auto& o) { return convolution(o, 64, 14, 32, 64, 3, 2); }},
      {"conv2d", "64 x 14 x 14 x 64 to 64, 1 x 1",
       [](auto& o) { return convolution(o, 64, 14, 64, 64, 1, 1); }},
      {"max_pool2d", "64 x 28 x 28 x 32, 2 x 2",
       [](auto& o) {
         return unary(o, {64, 28, 28, 32}, [](const Tensor& x) {
           return ops::max_pool2d(x, {2, 2}, {.stride = {2, 2}});
         });
       }},
      {"batch_norm", "64 x 14 x 14 x 32, relu",
       [](auto& o) {
         const Tensor gamma = o.leaf({32}), beta = o.leaf({32});
         return unary(o, {64, 14, 14, 32}, [=](const Tensor& x) {
           return ops::batch_norm(x, gamma, beta, 1e-5f, Activation::relu).y;
         });
       }},
      {"add", "4 Mi",
       [](auto& o) {
         const Tensor b = o.leaf({1 << 22});
         return unary(o, {1 << 22}, [=](const Tensor& x) { return ops::add(x, read(b)); });
       }},
      {"activation", "4 Mi, gelu",
       [](auto& o) {
         return unary(o, {1 << 22},
                      [](const Tensor& x) { return ops::activation(x, Activation::gelu_tanh); });
       }},
      {"dropout", "4 Mi",
       [](auto& o) {
         return unary(o, {1 << 22},
                      [](const Tensor& x) { return ops::dropout(x, 0.1f, RngKey(1)); });
       }},
      {"sum", "4 Mi",
       [](auto& o) { return unary(o, {1 << 22}, [](const Tensor& x) { return ops::sum(x); }); }},
      {"adam", "4 Mi", [](auto& o) { return adam(o, 1 << 22); }},
  };
}

}  // namespace trivet

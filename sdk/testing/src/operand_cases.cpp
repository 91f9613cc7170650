// SPDX-License-Identifier: Apache-2.0
#include "operand_cases.h"

#include "trivet/ops/ops_norm.h"
#include "trivet/ops/ops_vision.h"
#include "trivet/ops/ops_volume.h"
#include "trivet/recurrent/gru.h"
#include "trivet/recurrent/lstm.h"

namespace trivet::testing {
namespace {

using In = std::span<const Tensor>;
using Cases = std::vector<OperandCase>;

Operand numbers(std::string name, const Shape& shape, double low = -1, double high = 1) {
  return {std::move(name), shape, DType::f32, low, high};
}
Operand integers(std::string name, const Shape& shape, double high) {
  return {std::move(name), shape, DType::i32, 0, high};
}
Operand optional(Operand operand) {
  operand.optional = true;
  return operand;
}

void add_unary(Cases& cases) {
  struct Unary {
    const char* name;
    Tensor (*op)(const Tensor&);
    bool differentiable = true;
  };
  const Unary all[] = {{"neg", ops::neg},
                       {"abs", ops::abs},
                       {"exp", ops::exp},
                       {"log", ops::log},
                       {"sqrt", ops::sqrt},
                       {"rsqrt", ops::rsqrt},
                       {"tanh", ops::tanh},
                       {"sigmoid", ops::sigmoid},
                       {"sin", ops::sin},
                       {"cos", ops::cos},
                       {"floor", ops::floor, false},
                       {"square", ops::square},
                       {"softplus", ops::softplus},
                       {"sum", ops::sum},
                       {"mean", ops::mean},
                       {"softmax", ops::softmax},
                       {"log_softmax", ops::log_softmax}};
  for (const Unary& u : all) {
    cases.push_back({.op = u.name,
                     .operands = [](auto rows) -> std::vector<Operand> {
                       return {numbers("x", {rows, 5}, 0.25, 2)};
                     },
                     .call = [op = u.op](In in) { return op(in[0]); },
                     .differentiable = u.differentiable});
  }
}

void add_binary(Cases& cases) {
  struct Binary {
    const char* name;
    Tensor (*op)(const Tensor&, const Tensor&);
    bool differentiable = true;
  };
  const Binary all[] = {
      {"add", ops::add}, {"sub", ops::sub},          {"mul", ops::mul},
      {"div", ops::div}, {"max", ops::max},          {"min", ops::min},
      {"pow", ops::pow}, {"less", ops::less, false}, {"equal", ops::equal, false}};
  for (const Binary& b : all) {
    cases.push_back({.op = b.name,
                     .operands = [](auto rows) -> std::vector<Operand> {
                       return {numbers("a", {rows, 4, 3}, 0.5, 2), numbers("b", {4, 3}, 0.5, 2)};
                     },
                     .call = [op = b.op](In in) { return op(in[0], in[1]); },
                     .differentiable = b.differentiable});
  }
  cases.push_back({.op = "where",
                   .operands = [](auto rows) -> std::vector<Operand> {
                     return {{"condition", {rows, 3}, DType::boolean, 0, 2},
                             numbers("a", {rows, 3}),
                             numbers("b", {rows, 3})};
                   },
                   .call = [](In in) { return ops::where(in[0], in[1], in[2]); }});
}

struct Traits {
  bool differentiable = true;
  bool any_type = false;
  std::string form{};
};

void add_one_operand(Cases& cases, const std::string& op, const Shape& row,
                     std::function<Tensor(const Tensor&)> call, const Traits& traits = {}) {
  cases.push_back({.op = op,
                   .form = traits.form,
                   .operands = [row](auto rows) -> std::vector<Operand> {
                     std::vector<std::int64_t> extents{rows};
                     extents.insert(extents.end(), row.begin(), row.end());
                     return {numbers("x", Shape(extents))};
                   },
                   .call = [call = std::move(call)](In in) { return call(in[0]); },
                   .differentiable = traits.differentiable,
                   .any_type = traits.any_type});
}

void add_forms(Cases& cases) {
  add_one_operand(cases, "reshape", {2, 3},
                  [](auto& x) {
                    return ops::reshape(x, {-1, 6});
                  },
                  {.any_type = true});
  add_one_operand(cases, "transpose", {2, 3},
                  [](auto& x) {
                    return ops::transpose(x, {2, 0, 1});
                  },
                  {.any_type = true});
  add_one_operand(cases, "slice", {5}, [](auto& x) { return ops::slice(x, 1, 1, 4); },
                  {.any_type = true});
  add_one_operand(cases, "split", {6}, [](auto& x) { return ops::split(x, 1, 3)[1]; },
                  {.any_type = true});
  add_one_operand(cases, "expand", {1, 3},
                  [](auto& x) {
                    return ops::expand(x, {x.defined() ? x.dim(0) : 0, 4, 3});
                  },
                  {.any_type = true});
  add_one_operand(cases, "contiguous", {5}, [](auto& x) { return ops::square(ops::contiguous(x)); },
                  {.any_type = true});
  add_one_operand(cases, "stop_gradient", {5}, [](auto& x) { return ops::stop_gradient(x); },
                  {.differentiable = false, .any_type = true});
  add_one_operand(cases, "cast", {5},
                  [](auto& x) { return ops::cast(ops::cast(x, DType::f16), DType::f32); },
                  {.any_type = true});
  cases.push_back({.op = "concat",
                   .operands = [](auto rows) -> std::vector<Operand> {
                     return {numbers("part", {rows, 2}), numbers("part", {rows, 3})};
                   },
                   .call = [](In in) { return ops::concat(in, 1); }});
  for (const auto& [mode, name] : {std::pair{PadMode::constant, "constant"},
                                   {PadMode::edge, "edge"},
                                   {PadMode::reflect, "reflect"}}) {
    const PadMode how = mode;
    add_one_operand(cases, "pad", {4, 2}, [how](auto& x) { return ops::pad(x, 1, 2, 3, how, 7); },
                    {.form = name});
  }
}

void add_along_axes(Cases& cases) {
  const std::string of_axis = "along an axis";
  enum class Kind { differentiable, not_differentiable };
  const auto add = [&](const char* op, auto call, Kind kind = Kind::differentiable) {
    add_one_operand(cases, op, {4, 3}, call,
                    {.differentiable = kind == Kind::differentiable, .form = of_axis});
  };
  add("sum", [](auto& x) { return ops::sum(x, 1); });
  add("mean", [](auto& x) { return ops::mean(x, 1, {.keep_dims = true}); });
  add("max", [](auto& x) { return ops::max(x, 1); });
  add("prod", [](auto& x) { return ops::prod(x, 1); });
  add("cumsum", [](auto& x) { return ops::cumsum(x, 1); });
  add("top_k", [](auto& x) { return ops::top_k(x, 2).values; });
  add(
      "argmax", [](auto& x) { return ops::argmax(x, 1); }, Kind::not_differentiable);
  cases.push_back(
      {.op = "weighted_mean",
       .operands = [](auto rows) -> std::vector<Operand> {
         return {numbers("values", {rows, 3}), optional(numbers("weights", {rows, 3}, 0.5, 2))};
       },
       .call = [](In in) { return ops::weighted_mean(in[0], in[1]); }});
}

constexpr Activation kActivations[] = {Activation::none, Activation::relu, Activation::sigmoid,
                                       Activation::gelu, Activation::silu};

void add_activations(Cases& cases) {
  for (const Activation act : {Activation::relu, Activation::tanh, Activation::gelu_tanh,
                               Activation::geglu, Activation::swiglu}) {
    add_one_operand(cases, "activation", {6}, [act](auto& x) { return ops::activation(x, act); },
                    {.form = std::to_string(static_cast<int>(act))});
  }
  add_one_operand(cases, "dropout", {6}, [](auto& x) { return ops::dropout(x, 0.5F, RngKey(3)); });
}

void add_products(Cases& cases) {
  for (const bool transposed : {false, true}) {
    cases.push_back(
        {.op = "matmul",
         .form = transposed ? "transposed" : "",
         .operands = [=](auto rows) -> std::vector<Operand> {
           return {numbers("a", {rows, 2, 4}),
                   numbers("b", transposed ? Shape{3, 4} : Shape{4, 3})};
         },
         .call = [=](In in) { return ops::matmul(in[0], in[1], {.transpose_b = transposed}); }});
  }
  cases.push_back({.op = "matmul",
                   .form = "batched",
                   .operands = [](auto rows) -> std::vector<Operand> {
                     return {numbers("a", {rows, 4, 2}), numbers("b", {rows, 4, 3})};
                   },
                   .call = [](In in) { return ops::matmul(in[0], in[1], {.transpose_a = true}); }});
  for (const Activation act : kActivations) {
    cases.push_back(
        {.op = "linear",
         .form = std::to_string(static_cast<int>(act)),
         .operands = [](auto rows) -> std::vector<Operand> {
           return {numbers("x", {rows, 2, 4}), numbers("w", {4, 3}), optional(numbers("b", {3}))};
         },
         .call = [=](In in) { return ops::linear(in[0], in[1], in[2], act); }});
  }
}

void add_norms(Cases& cases) {
  const auto operands = [](auto rows) -> std::vector<Operand> {
    return {numbers("x", {rows, 2, 5}), optional(numbers("gamma", {5}, 0.5, 2)),
            optional(numbers("beta", {5}))};
  };
  cases.push_back({.op = "layer_norm", .operands = operands, .call = [](In in) {
                     return ops::layer_norm(in[0], in[1], in[2], 1e-3F);
                   }});
  cases.push_back({.op = "rms_norm",
                   .operands = [](auto rows) -> std::vector<Operand> {
                     return {numbers("x", {rows, 5}), optional(numbers("gamma", {5}, 0.5, 2))};
                   },
                   .call = [](In in) { return ops::rms_norm(in[0], in[1], 1e-3F); }});
  for (const Activation act : kActivations) {
    cases.push_back(
        {.op = "batch_norm",
         .form = std::to_string(static_cast<int>(act)),
         .operands = operands,
         .call = [=](In in) { return ops::batch_norm(in[0], in[1], in[2], 1e-3F, act).y; }});
  }
}

std::vector<Operand> attention_operands(std::int64_t rows) {
  return {numbers("q", {rows, 3, 4, 2}), numbers("k", {rows, 5, 2, 2}),
          numbers("v", {rows, 5, 2, 2})};
}

void add_recurrent(Cases& cases) {
  cases.push_back({.op = "lstm",
                   .operands = [](auto rows) -> std::vector<Operand> {
                     return {numbers("gates", {rows, 3, 8}), numbers("w", {2, 8}),
                             optional(numbers("h", {rows, 2})), optional(numbers("c", {rows, 2}))};
                   },
                   .call =
                       [](In in) {
                         return ops::lstm(in[0], in[1], {in[2], in[3]}, {.cell_value_cap = 4}).h;
                       }});
  cases.push_back({.op = "gru",
                   .operands = [](auto rows) -> std::vector<Operand> {
                     return {numbers("gates", {rows, 3, 6}), numbers("u", {2, 6}),
                             numbers("c", {2}), optional(numbers("h", {rows, 2}))};
                   },
                   .call =
                       [](In in) {
                         return ops::gru(in[0], {in[1], in[2]}, in[3]);
                       }});
}

void add_sequences(Cases& cases) {
  cases.push_back({.op = "attention", .operands = attention_operands, .call = [](In in) {
                     return ops::attention(in[0], in[1], in[2], {.causal = true, .q_offset = 2});
                   }});
  cases.push_back({.op = "attention",
                   .form = "with segments",
                   .operands =
                       [](auto rows) {
                         auto all = attention_operands(rows);
                         all.push_back(integers("q_segments", {rows, 3}, 2));
                         all.push_back(integers("kv_segments", {rows, 5}, 2));
                         return all;
                       },
                   .call =
                       [](In in) {
                         return ops::attention(in[0], in[1], in[2],
                                               {.q_segments = in[3], .kv_segments = in[4]});
                       }});
  cases.push_back({.op = "attention",
                   .form = "with a bias",
                   .operands =
                       [](auto rows) {
                         auto all = attention_operands(rows);
                         all.push_back(optional(numbers("bias", {1, 4, 3, 5})));
                         all.push_back(optional(numbers("kv_prefix", {rows, 5}, 0, 1)));
                         return all;
                       },
                   .call =
                       [](In in) {
                         const Tensor prefix = in[4].defined() ? ops::stop_gradient(in[4]) : in[4];
                         return ops::attention(
                             in[0], in[1], in[2],
                             {.causal = true, .bias = in[3], .kv_prefix = prefix});
                       }});
  cases.push_back({.op = "rope",
                   .operands = [](auto rows) -> std::vector<Operand> {
                     return {numbers("x", {rows, 3, 2, 4}), integers("positions", {rows, 3}, 9)};
                   },
                   .call = [](In in) { return ops::rope(in[0], in[1]); }});
  cases.push_back({.op = "gather_rows",
                   .operands = [](auto rows) -> std::vector<Operand> {
                     return {numbers("table", {6, 3}), integers("indices", {rows, 2}, 6)};
                   },
                   .call = [](In in) { return ops::gather_rows(in[0], in[1]); }});
}

void add_losses(Cases& cases) {
  for (const float smoothing : {0.0F, 0.1F}) {
    cases.push_back({.op = "softmax_cross_entropy",
                     .form = smoothing > 0 ? "smoothed" : "",
                     .operands = [](auto rows) -> std::vector<Operand> {
                       return {numbers("logits", {rows, 2, 7}), integers("targets", {rows, 2}, 7)};
                     },
                     .call =
                         [=](In in) {
                           return ops::softmax_cross_entropy(in[0], in[1],
                                                             {.label_smoothing = smoothing});
                         }});
  }
  for (const bool transposed : {false, true}) {
    cases.push_back(
        {.op = "linear_cross_entropy",
         .form = transposed ? "transposed" : "",
         .operands = [=](auto rows) -> std::vector<Operand> {
           return {numbers("h", {rows, 2, 4}), numbers("w", transposed ? Shape{7, 4} : Shape{4, 7}),
                   integers("targets", {rows, 2}, 7), numbers("row_weight", {rows, 2}, 0, 2)};
         },
         .call =
             [=](In in) {
               const Tensor weight = in[3].defined() ? ops::stop_gradient(in[3]) : in[3];
               return ops::linear_cross_entropy(in[0], in[1], in[2], weight,
                                                {.transpose_w = transposed})
                   .loss;
             }});
  }
}

void add_images(Cases& cases) {
  for (const Activation act : kActivations) {
    for (const std::int64_t groups : {1, 2}) {
      cases.push_back(
          {.op = "conv2d",
           .form = std::to_string(static_cast<int>(act)) + ", groups " + std::to_string(groups),
           .operands = [=](auto rows) -> std::vector<Operand> {
             return {numbers("x", {rows, 4, 5, 4}), numbers("w", {3, 2, 4 / groups, 6}),
                     optional(numbers("b", {6}))};
           },
           .call =
               [=](In in) {
                 return ops::conv2d(in[0], in[1], in[2], {.stride = {2, 1}, .groups = groups}, act);
               }});
    }
  }
  const WindowOptions window{.stride = {2, 1}, .padding = Padding::explicit_, .pad = {1, 1}};
  add_one_operand(cases, "max_pool2d", {5, 4, 2}, [=](auto& x) {
    return ops::max_pool2d(x, {3, 2}, window);
  });
  add_one_operand(cases, "avg_pool2d", {5, 4, 2}, [=](auto& x) {
    return ops::avg_pool2d(x, {3, 2}, window);
  });
  cases.push_back(
      {.op = "conv3d",
       .operands = [](auto rows) -> std::vector<Operand> {
         return {numbers("x", {rows, 3, 4, 3, 2}), numbers("w", {2, 3, 2, 2, 3}),
                 optional(numbers("b", {3}))};
       },
       .call = [](In in) { return ops::conv3d(in[0], in[1], in[2], {}, Activation::relu); }});
  add_one_operand(cases, "max_pool3d", {4, 3, 5, 2}, [](auto& x) {
    return ops::max_pool3d(x, {2, 3, 2}, {.stride = {2, 1, 1}});
  });
  add_one_operand(cases, "avg_pool3d", {4, 3, 5, 2}, [](auto& x) {
    return ops::avg_pool3d(x, {2, 3, 2}, {.stride = {2, 1, 1}});
  });
}

}  // namespace

std::vector<OperandCase> operand_cases() {
  Cases cases;
  add_unary(cases);
  add_binary(cases);
  add_forms(cases);
  add_along_axes(cases);
  add_activations(cases);
  add_products(cases);
  add_norms(cases);
  add_recurrent(cases);
  add_sequences(cases);
  add_losses(cases);
  add_images(cases);
  return cases;
}

}  // namespace trivet::testing

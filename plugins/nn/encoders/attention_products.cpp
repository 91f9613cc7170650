// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/attention_products.h"

#include "nn/basic/checks.h"
#include "nn/basic/templates.h"
#include "nn/remat/checkpoint_policy.h"
#include "trivet/ops.h"

namespace trivet::nn {

void AttentionProductsConfig::validate(Diagnostics& diagnostics) const {
  if (num_heads > 0 && input_dims % num_heads != 0) {
    diagnostics.add("num_heads",
                    "is " + std::to_string(num_heads) +
                        ", which does not divide input_dims = " + std::to_string(input_dims),
                    "use a divisor of input_dims");
  }
}

AttentionProducts::AttentionProducts(std::string_view layer, const AttentionProductsConfig& config,
                                     Scope& scope)
    : layer_(layer),
      path_(scope.path()),
      input_dims_(expect_set(layer, path_, "input_dims", config.input_dims)),
      heads_(expect_set(layer, path_, "num_heads", config.num_heads)),
      head_dims_(input_dims_ / heads_) {
  const auto product = [&](const char* name, const InitConfig& init) {
    return scope.layer(name, linear(input_dims_, input_dims_, config.has_bias, init, {}));
  };
  query_ = product("query", config.init);
  key_ = product("key", config.init);
  value_ = product("value", config.init);
  output_ = product("output", init_or(config.output_init, config.init));
}

void AttentionProducts::check(const Tensor& x) const {
  if (x.rank() == 3 && x.dim(2) == input_dims_) return;
  wrong_input(layer_, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
}

Tensor AttentionProducts::by_head(std::string_view name, Layer& product, const Tensor& x,
                                  FpropContext& context) const {
  return ops::reshape(named_fprop(name, product, x, context),
                      {x.dim(0), x.dim(1), heads_, head_dims_});
}

Tensor AttentionProducts::output(const Tensor& mixed, FpropContext& context) const {
  const Tensor joined = ops::reshape(mixed, {mixed.dim(0), mixed.dim(1), input_dims_});
  return named_fprop("out_proj", *output_, joined, context);
}

}  // namespace trivet::nn

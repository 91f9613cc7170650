// SPDX-License-Identifier: Apache-2.0
#include "cli/inspection_text.h"

#include <fmt/core.h>

#include "cli/progress.h"
#include "train/run_summary.h"
#include "trivet/thread_pool.h"

namespace trivet {
namespace {

// The innermost layer that a parameter's path lies in.
std::string layer_of(const std::string& path, const std::map<std::string, std::int64_t>& layers) {
  for (std::string prefix = path; !prefix.empty();) {
    const std::size_t cut = prefix.find_last_of('/');
    prefix = cut == std::string::npos ? "" : prefix.substr(0, cut);
    if (layers.contains(prefix)) return prefix;
  }
  return "";
}

Value layer_rows(const Inspection& seen) {
  const auto counts = parameters_of_layers(seen);
  Value rows = Value::array();
  for (const LayerTrace::Entry& layer : seen.layers) {
    rows.push_back(Value::table({{"path", layer.path},
                                 {"type", layer.type},
                                 {"calls", layer.calls},
                                 {"input", layer.input},
                                 {"output", layer.output},
                                 {"parameters", counts.at(layer.path)},
                                 {"flops", layer.flops}}));
  }
  return rows;
}

Value weight_rows(const Inspection& seen) {
  Value rows = Value::array();
  for (const Inspection::Weights& entry : seen.weights) {
    Value shape = Value::array();
    for (const std::int64_t extent : entry.shape) shape.push_back(extent);
    rows.push_back(Value::table({{"path", entry.path},
                                 {"shape", std::move(shape)},
                                 {"trainable", entry.trainable},
                                 {"has_gradient", entry.has_gradient}}));
  }
  return rows;
}

Value memory_row(const MemoryReport& memory) {
  return Value::table({{"persistent_bytes", memory.persistent_bytes},
                       {"step_bytes", memory.arena_bytes},
                       {"peak_bytes", memory.peak_bytes}});
}

void add_stage(Value& table, const Inspection& seen) {
  table.set("model", seen.model);
  table.set("backend", seen.device->key());
  table.set("parameters", seen.trainable_count);
  table.set("states", seen.count - seen.trainable_count);
  table.set("examples", seen.examples);
  table.set("step_flops", seen.step_flops);
  if (seen.trained) table.set("first_loss", seen.first_loss);
  if (seen.expected_loss) {
    table.set("expected_first_loss", Value::table({{"low", seen.expected_loss->low},
                                                   {"high", seen.expected_loss->high},
                                                   {"reason", seen.expected_loss->reason}}));
  }
  if (seen.evaluated) {
    Value& logs = table.set("eval", Value::table());
    for (const auto& [name, value] : seen.eval_logs) logs.set(name, value);
  }
  table.set("memory", memory_row(seen.memory));
  table.set("layers", layer_rows(seen));
  table.set("weights", weight_rows(seen));
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

void add_figures(Value& table, const std::vector<Inspection>& stages) {
  if (stages.size() == 1) return add_stage(table, stages.front());
  Value& all = table.set("stages", Value::array());
  for (const Inspection& seen : stages) {
    Value figures = Value::table(
        {{"stage", static_cast<std::int64_t>(seen.stage + 1)}, {"name", seen.stage_name}});
    add_stage(figures, seen);
    all.push_back(std::move(figures));
  }
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "cli/view/inspection_text.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/format.h"
#include "run/run_summary.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

// The innermost layer that contains a parameter's path.
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
                                 {"type", layer.type()},
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
    Value shape = Value::array_of(entry.shape);
    rows.push_back(Value::table({{"path", entry.path},
                                 {"shape", std::move(shape)},
                                 {"trainable", entry.trainable},
                                 {"has_gradient", entry.has_gradient}}));
  }
  return rows;
}

// Whether exchanges of units move while a step computes, and take memory.
bool has_overlap(const Inspection& seen) {
  return seen.mesh.processes > 1 && seen.exchanged.units > 0 && !seen.process_memory.empty();
}

Value memory_row(const MemoryReport& memory) {
  return Value::table({{"persistent_bytes", memory.persistent_bytes},
                       {"step_bytes", memory.arena_bytes},
                       {"peak_bytes", memory.peak_bytes}});
}

std::vector<MemoryPart> device_memory(const Inspection& seen) {
  std::vector<MemoryPart> parts = seen.memory_parts;
  const std::uint64_t step = seen.memory.arena_bytes;
  parts.push_back({"step", step, share_of_step(step, seen.mesh)});
  return parts;
}

Value exchange_row(const Inspection& seen) {
  const bool has_slices = MeshLayout(seen.mesh).slices() > 1;
  Value row = Value::table();
  for (const Exchange& one : seen.exchanges) {
    Value& entry =
        row.set(one.name, Value::table({{"calls", one.calls},
                                        {"messages", one.messages},
                                        {"bytes", static_cast<std::int64_t>(one.bytes)}}));
    if (!has_slices) continue;
    entry.set("between_slices_messages", one.between_messages);
    entry.set("between_slices_bytes", static_cast<std::int64_t>(one.between_bytes));
  }
  return row;
}

// A training step of all devices. Zero if the task counts no tokens or nothing was trained.
struct TokenFigures {
  std::int64_t tokens = 0;
  double flops_per_token = 0;  // per op, with all pairs of attention
  // 6 N + 12 L H Q T, N: all parameters. 0 if some are not trained, since they have no gradients.
  double closed_form = 0;
  double step_flops = 0;     // of all tokens
  double ideal_seconds = 0;  // at the peak of all devices; 0: peak unknown
};
TokenFigures token_figures(const Inspection& seen) {
  TokenFigures figures;
  if (!seen.trained || seen.tokens == 0 || seen.examples == 0) return figures;
  const auto tokens = static_cast<double>(seen.tokens);
  const std::int64_t examples = seen.global_batch > 0 ? seen.global_batch : seen.examples;
  figures.tokens = seen.tokens / seen.examples * examples;
  figures.flops_per_token = seen.flops.model_flops / tokens;
  if (seen.trainable_count == seen.count) {
    figures.closed_form = 6 * static_cast<double>(seen.count) + seen.flops.attention_flops / tokens;
  }
  figures.step_flops = figures.flops_per_token * static_cast<double>(figures.tokens);
  if (seen.peak_flops > 0) {
    figures.ideal_seconds =
        figures.step_flops / (seen.peak_flops * static_cast<double>(seen.mesh.devices()));
  }
  return figures;
}

Value token_row(const TokenFigures& figures) {
  return Value::table({{"step_tokens", figures.tokens},
                       {"flops_per_token", figures.flops_per_token},
                       {"closed_form_flops_per_token", figures.closed_form},
                       {"step_flops", figures.step_flops},
                       {"ideal_step_seconds", figures.ideal_seconds}});
}

Value mesh_row(const Inspection& seen) {
  Value axes = Value::table();
  for (const std::string& axis : seen.mesh.mesh_axis_names) axes.set(axis, seen.mesh.extent(axis));
  return Value::table({{"devices", seen.mesh.devices()},
                       {"processes", seen.mesh.processes},
                       {"axes", std::move(axes)},
                       {"global_batch", seen.global_batch},
                       {"peak_flops", seen.peak_flops}});
}

Value device_memory_row(const Inspection& seen) {
  Value row = Value::table();
  for (const MemoryPart& part : device_memory(seen)) row.set(part.name, part.device_bytes);
  return row;
}

void add_stage(Value& table, const Inspection& seen) {
  table.set("model", seen.model);
  table.set("backend", seen.device->key());
  table.set("parameters", seen.trainable_count);
  table.set("states", seen.count - seen.trainable_count);
  table.set("examples", seen.examples);
  table.set("step_flops", seen.flops.flops);
  table.set("abstract", seen.abstract);
  if (const TokenFigures figures = token_figures(seen); figures.tokens > 0) {
    table.set("tokens", token_row(figures));
  }
  table.set("mesh", mesh_row(seen));
  if (seen.trained && !seen.abstract) table.set("initial_loss", seen.initial_loss);
  if (seen.expected_loss) {
    table.set("expected_initial_loss", Value::table({{"low", seen.expected_loss->low},
                                                     {"high", seen.expected_loss->high},
                                                     {"reason", seen.expected_loss->reason}}));
  }
  if (seen.evaluated) {
    Value& logs = table.set("eval", Value::table());
    for (const auto& [name, value] : seen.eval_logs) logs.set(name, value);
  }
  table.set("memory", memory_row(seen.memory));
  if (!seen.memory_parts.empty()) table.set("device_memory", device_memory_row(seen));
  if (!seen.process_memory.empty()) {
    Value& row = table.set("process_memory", Value::table());
    for (const MemoryPart& part : seen.process_memory) row.set(part.name, part.bytes);
  }
  if (has_overlap(seen)) {
    table.set("overlap", Value::table({{"assumed", seen.mesh.assumed_overlap()},
                                       {"is_chosen_in_run", !seen.mesh.overlap.has_value()}}));
  }
  if (!seen.exchanges.empty()) table.set("process_sends", exchange_row(seen));
  if (!seen.why_rows_are_gathered.empty()) {
    table.set("experts_are_whole", seen.why_rows_are_gathered);
  }
  if (const auto& use = seen.pipeline) {
    table.set("pipeline", Value::table({{"stages", use->stages},
                                        {"num_microbatches", use->shape.num_microbatches},
                                        {"circular_repeat", use->shape.circular_repeat},
                                        {"idle_share", use->shape.idle_share(use->stages)}}));
  }
  table.set("layers", layer_rows(seen));
  table.set("weights", weight_rows(seen));
}

}  // namespace

std::string format_flops(double flops) {
  for (const auto& [unit, name] :
       {std::pair{1e15, "PFLOP"}, std::pair{1e12, "TFLOP"}, std::pair{1e9, "GFLOP"},
        std::pair{1e6, "MFLOP"}, std::pair{1e3, "kFLOP"}}) {
    if (flops >= unit) return fmt::format("{:.3g} {}", flops / unit, name);
  }
  return flops > 0 ? fmt::format("{:.3g} FLOP", flops) : "0";
}

std::string stage_title(const Inspection& inspection) {
  if (inspection.stages == 1) return "";
  const std::string& name = inspection.stage_name;
  return fmt::format("stage {} of {}{}", inspection.stage + 1, inspection.stages,
                     name.empty() ? "" : " (" + name + ")");
}

std::string model_text(const Inspection& seen) {
  const auto states = static_cast<std::uint64_t>(seen.count - seen.trainable_count);
  std::string text = fmt::format(
      "{}{}{} parameters in {} tensors", seen.model, seen.model.empty() ? "" : "  ",
      format_count(static_cast<std::uint64_t>(seen.trainable_count)), seen.weights.size());
  if (states > 0) text += fmt::format(", including {} in states", format_count(states));
  return text;
}

std::map<std::string, std::int64_t> parameters_of_layers(const Inspection& seen) {
  std::map<std::string, std::int64_t> counts;
  for (const LayerTrace::Entry& layer : seen.layers) counts[layer.path] = 0;
  for (const Inspection::Weights& entry : seen.weights) {
    counts[layer_of(entry.path, counts)] += entry.shape.size();
  }
  return counts;
}

namespace {

// With enough digits to compare two ways of counting.
std::string exact_flops(double flops) {
  return fmt::format("{:.4e} FLOP", flops);
}

// As count_of(), with commas between thousands.
std::string count_text(std::int64_t count, std::string_view noun, std::string_view plural = {}) {
  return fmt::format("{} {}", format_count(static_cast<std::uint64_t>(count)),
                     noun_for(count, noun, plural));
}

std::string flops_text(const Inspection& seen) {
  return fmt::format("{} for {} examples{}", format_flops(seen.flops.flops), seen.examples,
                     seen.trained ? ", forward and backward" : "");
}

std::string tokens_text(const TokenFigures& figures) {
  std::string text = exact_flops(figures.flops_per_token) + " each, with all pairs of attention";
  if (figures.closed_form > 0) {
    text += "; 6 N + 12 L H Q T is " + exact_flops(figures.closed_form);
  }
  return text;
}

std::string mesh_text(const Inspection& seen) {
  std::string axes;
  for (const std::string& axis : seen.mesh.mesh_axis_names) {
    axes += fmt::format("{}{} {}", axes.empty() ? "" : ", ", axis, seen.mesh.extent(axis));
  }
  return fmt::format("{} ({}) in {}", count_text(seen.mesh.devices(), "device"), axes,
                     count_text(seen.mesh.processes, "process", "processes"));
}

std::string global_text(const Inspection& seen, const TokenFigures& figures) {
  std::string text = count_text(seen.global_batch, "example");
  if (figures.tokens == 0) return text;
  text +=
      fmt::format(", {}, {}", count_text(figures.tokens, "token"), exact_flops(figures.step_flops));
  if (figures.ideal_seconds == 0) return text + "; set runtime.peak_flops to see the time";
  return text + fmt::format(", {:.4g} s and {} tokens/s at the peak of {}/s a device",
                            figures.ideal_seconds,
                            format_count(static_cast<std::uint64_t>(
                                static_cast<double>(figures.tokens) / figures.ideal_seconds)),
                            format_flops(seen.peak_flops));
}

// "4.9 MB WHERE: weights 499 kB, ... (of 2 examples)".
std::string parts_text(const std::vector<MemoryPart>& parts, std::uint64_t MemoryPart::*bytes,
                       std::string_view where, std::int64_t examples) {
  std::uint64_t sum = 0;
  std::string text;
  for (const MemoryPart& part : parts) {
    sum += part.*bytes;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", part.name, format_bytes(part.*bytes));
  }
  return fmt::format("{} {}: {} (of {} examples)", format_bytes(sum), where, text, examples);
}

std::string device_memory_text(const Inspection& seen) {
  return "about " + parts_text(device_memory(seen), &MemoryPart::device_bytes,
                               "on each device if split as by Pax", seen.examples);
}

std::string process_memory_text(const Inspection& seen) {
  const std::int64_t processes = seen.mesh.processes;
  return parts_text(
      seen.process_memory, &MemoryPart::bytes,
      processes == 1 ? "in the process" : fmt::format("in each of {} processes", processes),
      seen.examples);
}

std::string overlap_text(const MeshConfig& mesh) {
  const std::int64_t assumed = mesh.assumed_overlap();
  if (mesh.overlap) return fmt::format("{} exchanges of units of each kind", assumed);
  return fmt::format(
      "{} exchanges of units of each kind, as a run begins; then it chooses 0 to {} (mesh.overlap)",
      assumed, MeshConfig::kMostOverlap);
}

std::string exchanges_text(const Inspection& seen) {
  std::uint64_t sum = 0, between = 0;
  std::string parts;
  for (const Exchange& one : seen.exchanges) {
    sum += one.bytes;
    between += one.between_bytes;
    std::string name = one.name;
    std::ranges::replace(name, '_', ' ');
    parts += fmt::format("{}{} {} in {}", parts.empty() ? "" : ", ", name, format_bytes(one.bytes),
                         count_of(one.calls, "call"));
  }
  const std::int64_t slices = MeshLayout(seen.mesh).slices();
  const std::string to_others =
      slices == 1 ? std::string()
                  : fmt::format(" ({} to others of the {} slices)", format_bytes(between), slices);
  return fmt::format("{}{} in a step from each of {} processes to the others: {}",
                     format_bytes(sum), to_others, seen.mesh.processes, parts);
}

std::string pipeline_text(const PipelineUse& use) {
  const PipelineShape& shape = use.shape;
  return fmt::format("{} of {} micro-batches{}; each waits for {:.1f} % of a pass", use.stages,
                     shape.num_microbatches,
                     shape.circular_repeat > 1
                         ? fmt::format(", {} times around", shape.circular_repeat)
                         : std::string(),
                     100 * shape.idle_share(use.stages));
}

std::string memory_text(const Inspection& seen) {
  const MemoryReport& memory = seen.memory;
  return fmt::format("{} for weights, gradients and optimizer, {} for a step; peak {}",
                     format_bytes(memory.persistent_bytes), format_bytes(memory.arena_bytes),
                     format_bytes(memory.peak_bytes));
}

std::string backend_text(const Inspection& seen) {
  if (seen.abstract) return seen.device->key() + " on a meta device; " + kernels_text(*seen.device);
  const int threads = seen.device->pool().threads();
  return fmt::format("{} {}; {}", seen.device->key(), count_of(threads, "thread"),
                     kernels_text(*seen.device));
}

}  // namespace

std::vector<NamedText> work_lines(const Inspection& seen) {
  std::vector<NamedText> lines = {{"step", flops_text(seen)}};
  const TokenFigures figures = token_figures(seen);
  if (figures.tokens > 0) lines.push_back({"tokens", tokens_text(figures)});
  if (!seen.abstract) return lines;
  lines.push_back({"mesh", mesh_text(seen)});
  lines.push_back({"batch", global_text(seen, figures)});
  if (seen.pipeline) lines.push_back({"stages", pipeline_text(*seen.pipeline)});
  if (!seen.exchanges.empty()) lines.push_back({"sends", exchanges_text(seen)});
  if (!seen.why_rows_are_gathered.empty()) {
    lines.push_back({"experts", "whole in each process: " + seen.why_rows_are_gathered});
  }
  return lines;
}

std::vector<NamedText> memory_lines(const Inspection& seen) {
  std::vector<NamedText> lines;
  if (!seen.process_memory.empty()) lines.push_back({"memory", process_memory_text(seen)});
  if (has_overlap(seen)) lines.push_back({"overlap", overlap_text(seen.mesh)});
  const std::vector<MemoryPart> shares = device_memory(seen);
  const bool is_split = std::ranges::any_of(
      shares, [](const MemoryPart& part) { return part.device_bytes != part.bytes; });
  if (!seen.memory_parts.empty() && (is_split || lines.empty())) {
    lines.push_back({lines.empty() ? "memory" : "split", device_memory_text(seen)});
  }
  if (lines.empty()) lines.push_back({"memory", memory_text(seen)});
  lines.push_back({"backend", backend_text(seen)});
  return lines;
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

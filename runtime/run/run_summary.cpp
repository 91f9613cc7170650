// SPDX-License-Identifier: Apache-2.0
#include "run/run_summary.h"

#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal_text.h"
#include "rundir/run_plugins.h"

namespace trivet {
namespace {

Value to_value(const Logs& logs) {
  Value table = Value::table();
  for (const auto& [name, number] : logs) table.set(name, number);
  return table;
}

// Null if unknown.
Value value_or_null(double number) {
  return number > 0 ? Value(number) : Value();
}

Value value_or_null(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

Value kernels_value(const Device& device) {
  Value kernels = Value::array();
  for (const KernelUse& use : device.kernel_uses()) {
    kernels.push_back(
        Value::table({{"kernel", use.kernel}, {"native", use.native}, {"fallback", use.fallback}}));
  }
  return kernels;
}

std::string logs_text(const char* name, const Logs& logs, int width) {
  if (logs.empty()) return "";
  std::vector<std::string> facts;
  for (const auto& [metric, number] : logs) {
    facts.push_back(fmt::format("{} {}", metric, format_number(number)));
  }
  return "\n" + facts_line(fmt::format("  {:<8}", name), facts, "", width);
}

std::string cost_text(const RunStats& stats) {
  const TrainingCost cost = stats.cost();
  if (cost.steps == 0) return "";
  return fmt::format("   {} examples/s, {} per CPU-second",
                     format_count(static_cast<std::uint64_t>(cost.examples_per_second())),
                     format_count(static_cast<std::uint64_t>(cost.examples_per_cpu_second())));
}

std::string tokens_text(const TrainingCost& cost) {
  if (cost.tokens == 0) return "";
  std::string text = fmt::format("\n  tokens    {} per second at {:.4g} FLOP each",
                                 format_count(static_cast<std::uint64_t>(cost.tokens_per_second())),
                                 cost.flops_per_token());
  if (cost.peak_flops == 0) return text + "; run 'trivet doctor --peak' to get the MFU";
  return text + fmt::format(", MFU {:.1f} % of {:.4g} FLOP/s", 100 * cost.mfu(), cost.peak_flops);
}

std::string waited_text(const TrainingCost& cost) {
  std::string text;
  for (const double waited : cost.waited_seconds) {
    text += fmt::format("{}{:.1f} %", text.empty() ? "\n  waited    " : ", ",
                        100 * waited / cost.seconds);
  }
  return text.empty() ? "" : text + " of the time, each process for others";
}

}  // namespace

Value summary_value(const RunSummary& summary, const RunStats& stats, const Device& device) {
  const TrainingCost cost = stats.cost();
  const MemoryReport memory = device.memory();
  return Value::table({{"state", summary.state},
                       {"stop_reason", value_or_null(summary.stop_reason)},
                       {"step", summary.step},
                       {"target", summary.target},
                       {"train", to_value(summary.train)},
                       {"eval", to_value(summary.eval)},
                       {"eval_step", summary.eval_step < 0 ? Value() : Value(summary.eval_step)},
                       {"config", summary.source},
                       {"mode", summary.mode},
                       {"seed", summary.seed},
                       {"task", summary.task},
                       {"model", summary.model},
                       {"parameters", summary.parameters},
                       {"backend", summary.backend},
                       {"backend_description", static_cast<const char*>(device.info().name)},
                       {"threads", static_cast<std::int64_t>(summary.threads)},
                       {"plugins", loaded_plugins_value()},
                       {"wall_seconds", summary.wall_seconds},
                       {"first_step_seconds", stats.first_step_seconds()},
                       {"train_seconds", stats.training_seconds()},
                       {"steps_done", stats.steps()},
                       {"measured_steps", cost.steps},
                       {"steps_per_second", cost.steps_per_second()},
                       {"examples_per_second", cost.examples_per_second()},
                       {"examples_per_cpu_second", cost.examples_per_cpu_second()},
                       {"tokens_per_second", value_or_null(cost.tokens_per_second())},
                       {"flops_per_token", value_or_null(cost.flops_per_token())},
                       {"peak_flops", value_or_null(cost.peak_flops)},
                       {"mfu", value_or_null(cost.mfu())},
                       {"measured_seconds", cost.seconds},
                       {"waited_seconds", Value::array_of(cost.waited_seconds)},
                       {"exchange_seconds", cost.exchange_seconds},
                       {"overlap", summary.overlap ? Value(*summary.overlap) : Value()},
                       {"peak_rss_bytes", process_usage().peak_resident_bytes},
                       {"persistent_bytes", memory.persistent_bytes},
                       {"arena_bytes", memory.arena_bytes},
                       {"arena_lower_bound_bytes", memory.lower_bound_bytes},
                       {"peak_device_bytes", memory.peak_bytes},
                       {"page_faults_per_step", cost.page_faults_per_step()},
                       {"backend_allocations_per_step", cost.backend_allocations_per_step()},
                       {"flops", device.flops()},
                       {"kernels", kernels_value(device)}});
}

Value with_evaluation(Value before, const Value& now) {
  const Value* trained = before.find("train");
  if (trained == nullptr || !trained->is_table() || trained->members().empty()) return now;
  for (const char* name : {"eval", "eval_step"}) before.set(name, *now.find(name));
  return before;
}

std::string kernels_text(const Device& device) {
  std::string fallbacks;
  for (const KernelUse& use : device.kernel_uses()) {
    if (use.fallback == 0) continue;
    fallbacks +=
        fmt::format("{}{} ({} calls)", fallbacks.empty() ? "" : ", ", use.kernel, use.fallback);
  }
  return fallbacks.empty() ? "every kernel native" : "fallback: " + fallbacks;
}

std::string summary_text(const RunSummary& summary, const RunStats& stats, const Device& device,
                         int width) {
  const TrainingCost cost = stats.cost();
  const MemoryReport memory = device.memory();
  std::string text =
      fmt::format("  {:<9} step {} of {} in {}{}", summary.state, summary.step, summary.target,
                  format_duration(summary.wall_seconds), cost_text(stats));
  if (!summary.stop_reason.empty()) {
    text += fmt::format("\n  ended     {}", printable(summary.stop_reason));
  }
  text += tokens_text(cost) + waited_text(cost);
  text += logs_text("train", summary.train, width) + logs_text("eval", summary.eval, width);
  text += fmt::format(
      "\n  memory    peak {}, of it {} for a step and {} for weights, gradients and optimizer",
      format_bytes(static_cast<std::uint64_t>(process_usage().peak_resident_bytes)),
      format_bytes(memory.arena_bytes), format_bytes(memory.persistent_bytes));
  if (cost.steps > 0) {
    text += fmt::format(
        "\n  steady    {:.3g} backend allocations and {:.3g} page faults per step after step 2",
        cost.backend_allocations_per_step(), cost.page_faults_per_step());
  }
  if (!device.kernel_uses().empty()) {
    text += fmt::format("\n  backend   {} {}", summary.backend, kernels_text(device));
  }
  text += fmt::format("\n  files     {}", summary.directory);
  return text;
}

}  // namespace trivet

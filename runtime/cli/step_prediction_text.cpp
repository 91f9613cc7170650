// SPDX-License-Identifier: Apache-2.0
#include "cli/step_prediction_text.h"

#include <array>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "cli/view/inspection_text.h"
#include "cli/view/text_table.h"
#include "device/step_exchanges.h"
#include "trivet/backend/mesh_layout.h"

namespace trivet {
namespace {

std::string short_time(double seconds) {
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

// Axes of several devices.
std::string axes_text(const MeshConfig& mesh) {
  std::string text;
  for (const std::string& axis : mesh.mesh_axis_names) {
    if (mesh.extent(axis) == 1) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis, mesh.extent(axis));
  }
  return text;
}

std::int64_t slices_of(const MeshConfig& mesh) {
  return MeshLayout(mesh).slices();
}

std::string exposed_text(const StepPrediction& row) {
  const double part = row.step_seconds() > 0 ? row.exposed_seconds / row.step_seconds() : 0;
  return fmt::format("{} ({:.1f} %)", short_time(row.exposed_seconds), 100 * part);
}

std::string predictions_table(const std::vector<StepPrediction>& rows) {
  TextTable table;
  table.column("devices", TextTable::Align::right);
  table.column("mesh");
  for (const char* head : {"processes", "step", "compute", "exchange", "exposed", "sent"}) {
    table.column(head, TextTable::Align::right);
  }
  const bool has_slices = slices_of(rows.front().mesh) > 1;
  if (has_slices) table.column("to other slices", TextTable::Align::right);
  table.column("memory", TextTable::Align::right);
  for (const StepPrediction& row : rows) {
    if (!row.refused.empty()) continue;
    std::vector<std::string> cells = {format_count(static_cast<std::uint64_t>(row.devices)),
                                      axes_text(row.mesh),
                                      format_count(static_cast<std::uint64_t>(row.mesh.processes)),
                                      short_time(row.step_seconds()),
                                      short_time(row.compute_seconds),
                                      short_time(row.exchange_seconds),
                                      exposed_text(row),
                                      format_bytes(row.sent_bytes)};
    if (has_slices) cells.push_back(format_bytes(row.between_bytes));
    cells.push_back(format_bytes(row.memory_bytes));
    table.row(std::move(cells));
  }
  return table.text(0);
}

std::string blocks_text(const MeshConfig& mesh) {
  const std::int64_t processes = processes_of_blocks(mesh);
  if (processes == 1) {
    return "Each process has all devices along mdl of its shards: blocks exchange nothing.\n";
  }
  return fmt::format("{} processes share the devices along mdl, on meshes of other sizes, too.\n",
                     processes);
}

}  // namespace

std::string prediction_text(const PredictedSteps& steps) {
  const auto& [networks, flop_rate, rate_source, rows] = steps;
  const auto& [network, between] = networks;
  const MeshConfig& mesh = rows.front().mesh;
  std::string text = fmt::format(
      "network {} a message, {}/s from each process; {}/s in each process ({})\n"
      "Exchanges of units of weights and gradients run beside the computation as far as it lasts; "
      "others are exposed.\nmesh.overlap = {}{}.\n",
      short_time(network.latency), format_bytes(static_cast<std::uint64_t>(network.bandwidth)),
      format_flops(flop_rate), rate_source, mesh.assumed_overlap(),
      mesh.overlap ? "" : ", with which a run begins before it chooses");
  if (const std::int64_t slices = slices_of(mesh); slices > 1) {
    text += fmt::format("{} slices: {} a message, {}/s between them; other meshes are one slice.\n",
                        slices, short_time(between.latency),
                        format_bytes(static_cast<std::uint64_t>(between.bandwidth)));
  }
  if (rows.front().mesh.extent("mdl") > 1) text += blocks_text(rows.front().mesh);
  text += "\n" + predictions_table(rows);
  for (const StepPrediction& row : rows) {
    if (row.refused.empty()) continue;
    text += fmt::format("{} devices: {}\n", format_count(static_cast<std::uint64_t>(row.devices)),
                        row.refused);
  }
  return text;
}

Value prediction_row(const PredictedSteps& steps) {
  Value rows = Value::array();
  for (const StepPrediction& row : steps.rows) {
    Value entry = Value::table({{"devices", row.devices}, {"processes", row.mesh.processes}});
    if (!row.refused.empty()) {
      entry.set("refused", row.refused);
    } else {
      entry.set("step_seconds", row.step_seconds());
      entry.set("compute_seconds", row.compute_seconds);
      entry.set("exchange_seconds", row.exchange_seconds);
      entry.set("exposed_seconds", row.exposed_seconds);
      entry.set("sent_bytes", row.sent_bytes);
      entry.set("between_slices_bytes", row.between_bytes);
      entry.set("memory_bytes", row.memory_bytes);
    }
    rows.push_back(std::move(entry));
  }
  return Value::table({{"latency_seconds", steps.networks.within.latency},
                       {"bandwidth", steps.networks.within.bandwidth},
                       {"between_slices_latency_seconds", steps.networks.between.latency},
                       {"between_slices_bandwidth", steps.networks.between.bandwidth},
                       {"device_flops", steps.flop_rate},
                       {"device_flops_from", steps.rate_source},
                       {"overlap", steps.rows.front().mesh.assumed_overlap()},
                       {"rows", std::move(rows)}});
}

}  // namespace trivet

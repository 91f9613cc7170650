// SPDX-License-Identifier: Apache-2.0
// What trainers have in common around a step of a task: its batch, its errors, its metrics.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <fmt/core.h>

#include "trivet/error.h"
#include "trivet/input.h"
#include "trivet/metric.h"
#include "trivet/task.h"

namespace trivet {

// The task's input for a config, behind a Prefetch unless its `prefetch` is 0.
std::unique_ptr<Input> build_input(Task& task, const ConfigOf<Input>& config, bool training);

void reset(Metrics& metrics);
Logs results(const Metrics& metrics);
Value save_metrics(const Metrics& metrics);
// Throws RunError for the state of another number of metrics.
void restore_metrics(const Value& states, const Metrics& metrics);

// What a step of a task throws that is no Error of ours still tells which step it was.
template <class Body>
auto in_step(std::string_view kind, std::int64_t step, Body&& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& failure) {
    throw RunError(fmt::format("{} step {} failed: {}", kind, step, failure.what()),
                   {.path = "task"});
  }
}

}  // namespace trivet

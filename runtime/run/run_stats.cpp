// SPDX-License-Identifier: Apache-2.0
#include "run/run_stats.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace trivet {
namespace {

double rate(double amount, double per) {
  return per > 0 ? amount / per : 0;
}

double shortest_increase(const std::vector<double>& before, const std::vector<double>& now) {
  if (before.size() != now.size() || now.empty()) return 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < now.size(); ++i) shortest = std::min(shortest, now[i] - before[i]);
  return shortest;
}

}  // namespace

double TrainingCost::examples_per_second() const {
  return rate(static_cast<double>(examples), seconds);
}
double TrainingCost::examples_per_cpu_second() const {
  return rate(static_cast<double>(examples), cpu_seconds);
}
double TrainingCost::tokens_per_second() const {
  return rate(static_cast<double>(tokens), seconds);
}
double TrainingCost::flops_per_token() const {
  return rate(model_flops, static_cast<double>(tokens));
}
double TrainingCost::mfu() const {
  return rate(tokens_per_second() * flops_per_token(), peak_flops);
}
double TrainingCost::steps_per_second() const {
  return rate(static_cast<double>(steps), seconds);
}
double TrainingCost::page_faults_per_step() const {
  return rate(static_cast<double>(page_faults), static_cast<double>(steps));
}
double TrainingCost::backend_allocations_per_step() const {
  return rate(static_cast<double>(backend_allocations), static_cast<double>(steps));
}

double RunStats::process_count() const {
  return static_cast<double>(std::max<std::size_t>(1, processes_.waited_seconds.size()));
}

void RunStats::set_processes(Processes processes) {
  exchange_seconds_ += shortest_increase(processes_.waited_seconds, processes.waited_seconds);
  processes_ = std::move(processes);
}

RunStats::Mark RunStats::mark() const {
  ProcessUsage usage = process_usage();
  if (process_count() > 1) usage.cpu_seconds = processes_.cpu_seconds;
  return {.time = steady_seconds(),
          .usage = usage,
          .allocations = device_.memory().backend_allocations,
          .waited_seconds = processes_.waited_seconds,
          .exchange_seconds = exchange_seconds_};
}

void RunStats::add_since(const Mark& start, TrainingCost& cost) const {
  const Mark end = mark();
  cost.seconds += end.time - start.time;
  cost.cpu_seconds += end.usage.cpu_seconds - start.usage.cpu_seconds;
  cost.page_faults += end.usage.page_faults - start.usage.page_faults;
  cost.waited_seconds.resize(end.waited_seconds.size());
  for (std::size_t rank = 0; rank < end.waited_seconds.size(); ++rank) {
    const double before = rank < start.waited_seconds.size() ? start.waited_seconds[rank] : 0;
    cost.waited_seconds[rank] += end.waited_seconds[rank] - before;
  }
  cost.exchange_seconds += end.exchange_seconds - start.exchange_seconds;
  cost.backend_allocations += static_cast<std::int64_t>(end.allocations - start.allocations);
}

void RunStats::begin_training() {
  training_ = true;
  segment_start_ = steady_seconds();
  flops_before_ = device_.flop_count().model_flops;
  measuring_ = steps_ >= kUnmeasuredSteps;
  if (measuring_) start_ = mark();
}

void RunStats::end_training() {
  if (measuring_) add_since(start_, cost_);
  if (training_) training_seconds_ += steady_seconds() - segment_start_;
  measuring_ = training_ = false;
}

void RunStats::on_step(std::int64_t examples, std::int64_t tokens) {
  const double flops = device_.flop_count().model_flops;
  const double of_step = (flops - std::exchange(flops_before_, flops)) * process_count();
  ++steps_;
  examples_ += examples;
  tokens_ += tokens;
  model_flops_ += of_step;
  if (steps_ == 1) first_step_seconds_ = seconds_since_process_start();
  if (measuring_) {
    ++cost_.steps;
    cost_.examples += examples;
    cost_.tokens += tokens;
    cost_.model_flops += of_step;
  } else if (steps_ == kUnmeasuredSteps) {
    measuring_ = true;
    start_ = mark();
  }
}

double RunStats::training_seconds() const {
  return training_seconds_ + (training_ ? steady_seconds() - segment_start_ : 0);
}

TrainingCost RunStats::cost() const {
  TrainingCost cost = cost_;
  if (measuring_) add_since(start_, cost);
  cost.peak_flops = peak_flops();
  return cost;
}

}  // namespace trivet

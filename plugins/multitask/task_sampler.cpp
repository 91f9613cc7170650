// SPDX-License-Identifier: Apache-2.0
#include "task_sampler.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "trivet/tensor/random.h"

namespace trivet::multitask {

void SamplerConfig::validate(Diagnostics& diagnostics) const {
  if (method != Sampling::annealing || total_steps > steps_per_epoch) return;
  diagnostics.add("total_steps", "is at most steps_per_epoch, so nothing is annealed",
                  "set it to the number of steps of the run");
}

TaskSampler::TaskSampler(const SamplerConfig& config, std::vector<double> weights)
    : config_(config), weights_(std::move(weights)) {}

double TaskSampler::exponent(std::int64_t step) const {
  if (config_.method == Sampling::uniform) return 0;
  if (config_.method == Sampling::proportional) return config_.alpha;
  const auto steps_per_epoch = static_cast<double>(config_.steps_per_epoch);
  const double epochs = static_cast<double>(config_.total_steps) / steps_per_epoch;
  const double epoch = std::floor(static_cast<double>(step) / steps_per_epoch);
  return 1 - 0.8 * (std::min(epoch, epochs) - 1) / (epochs - 1 + 1e-10);
}

std::vector<double> TaskSampler::probabilities(std::int64_t step) const {
  std::vector<double> shares;
  double sum = 0;
  for (const double weight : weights_) {
    shares.push_back(std::pow(weight, exponent(step)));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

std::size_t TaskSampler::draw(std::int64_t step) const {
  const RngKey key = RngKey(static_cast<std::uint64_t>(config_.seed))
                         .fold("task")
                         .fold(static_cast<std::uint64_t>(step));
  float number = 0;
  random_uniform(key, 0, 1, std::span(&number, 1));
  const std::vector<double> shares = probabilities(step);
  double end = 0;
  for (std::size_t i = 0; i + 1 < shares.size(); ++i) {
    end += shares[i];
    if (static_cast<double>(number) < end) return i;
  }
  return shares.size() - 1;
}

}  // namespace trivet::multitask

// SPDX-License-Identifier: Apache-2.0
// Wave: points of y = sin(pi x) with noise, x uniform in [-1, 1). Batches have "x" and "y" f32
// [B, 1] and "weight" f32 [B]. An example is a function of the seed, of its number and of whether
// it is for training, so any order and any number of hosts sees the same examples.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include <trivet/data/example_sampler.h>
#include <trivet/input.h>
#include <trivet/tensor/random.h>

namespace acme {

// [class]
struct WaveConfig : trivet::InputConfig {
  std::int64_t examples = 1024;
  double noise = 0.05;
};
TRIVET_CONFIG(WaveConfig, trivet::InputConfig, (examples, "Points of an epoch.", at_least(1)),
              (noise, "Standard deviation of the noise in y.", at_least(0)))

class Wave final : public trivet::Input {
 public:
  using Config = WaveConfig;

  Wave(const Config& config, trivet::InputContext& context)
      : noise_(config.noise),
        name_(context.name),
        key_(trivet::RngKey(static_cast<std::uint64_t>(config.seed))
                 .fold(context.phase == trivet::Phase::training ? "train" : "eval")),
        sampler_(config, context.phase, config.examples, context.name) {}

  std::optional<trivet::Batch> get_next() override {
    if (!sampler_.next(samples_)) return std::nullopt;
    const auto rows = static_cast<std::int64_t>(samples_.size());
    trivet::Tensor x = trivet::Tensor::host({rows, 1});
    trivet::Tensor y = trivet::Tensor::host({rows, 1});
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const auto key = key_.fold(static_cast<std::uint64_t>(samples_[i].example));
      std::array<float, 1> position{}, error{};
      trivet::random_uniform(key.fold("x"), -1, 1, position);
      trivet::random_normal(key.fold("noise"), 0, noise_, error);
      x.mutable_span<float>()[i] = position[0];
      y.mutable_span<float>()[i] = std::sin(std::numbers::pi_v<float> * position[0]) + error[0];
    }
    return trivet::Batch{{"x", x}, {"y", y}, {"weight", sampler_.weights(samples_)}};
  }

  void reset() override { sampler_.reset(); }
  trivet::Value save_state() const override { return sampler_.save_state(); }
  void restore_state(const trivet::Value& state) override { sampler_.restore_state(state, name_); }
  std::optional<std::int64_t> batches_per_epoch() const override {
    return sampler_.batches_per_epoch();
  }

 private:
  double noise_;
  std::string name_;
  trivet::RngKey key_;
  trivet::ExampleSampler sampler_;
  std::vector<trivet::ExampleSampler::Sample> samples_;  // of a batch; kept for its memory
};
// [/class]

}  // namespace acme

// SPDX-License-Identifier: Apache-2.0
// What trivet/data/example_sampler.h shows: an input over a known number of examples.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/data/example_sampler.h>
#include <trivet/input.h>

namespace example_sampler_example {

using namespace trivet;

namespace {

// Example i is the number i.
class Numbers final : public Input {
 public:
  Numbers(const InputConfig& config, Phase phase, std::int64_t examples)
      : order_(config, phase, examples, "numbers") {}

  // [get_next]
  std::optional<Batch> get_next() override {
    if (!order_.next(samples_)) return std::nullopt;
    Batch batch = read(samples_);  // sample i is row i of the batch
    batch.set("weight", order_.weights(samples_));
    return batch;
  }
  // [/get_next]

  void reset() override { order_.reset(); }
  Value save_state() const override { return order_.save_state(); }
  void restore_state(const Value& state) override { order_.restore_state(state, "numbers"); }

 private:
  static Batch read(const std::vector<ExampleSampler::Sample>& samples) {
    Tensor x = Tensor::host({static_cast<std::int64_t>(samples.size())});
    for (std::size_t i = 0; i < samples.size(); ++i) {
      x.mutable_span<float>()[i] = static_cast<float>(samples[i].example);
    }
    return {{"x", x}};
  }

  ExampleSampler order_;
  std::vector<ExampleSampler::Sample> samples_;
};

}  // namespace

TEST_CASE("example: an input fills batches, and the last one with examples of weight 0") {
  InputConfig config;
  config.batch_size = 2;
  Numbers input(config, Phase::evaluation, 3);
  const auto first = input.get_next();
  REQUIRE(first.has_value());
  CHECK(first->at("x").to_host<float>() == std::vector<float>{0, 1});
  CHECK(first->at("weight").to_host<float>() == std::vector<float>{1, 1});
  const auto second = input.get_next();
  REQUIRE(second.has_value());
  CHECK(second->at("x").to_host<float>()[0] == 2);
  CHECK(second->at("weight").to_host<float>() == std::vector<float>{1, 0});
  CHECK_FALSE(input.get_next().has_value());
}

}  // namespace example_sampler_example

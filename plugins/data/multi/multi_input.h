// SPDX-License-Identifier: Apache-2.0
// data/Multi: several inputs that are read together (Pax' MultiInput). A field "ids" of the input
// "text" is the field "text/ids" of a batch.
//
// Inputs may have batches of different sizes. With batch_size B, a field [N, ...] of an input with
// N = B * k examples a batch becomes [B, k, ...] if k is more than 1: row i of the batch has the
// examples i * k to i * k + k - 1 of that input. Pax takes the greatest common divisor of the sizes
// for B; any common divisor is taken here.
//
//   "NAME/..."  the fields of each input, with its own "NAME/weight" [B] or [B, k]
//   "weight"    f32 [B]: 1 where an example of the row has a weight, 0 where all are padding
//
// The inputs must end after the same number of batches, or never.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trivet/input.h"

namespace trivet::data {

struct MultiConfig : InputConfig {
  Map<ConfigOf<Input>> inputs;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    MultiConfig, trivet::InputConfig,
    (inputs,
     "Inputs by name, which their fields have in front. Each has its own batch_size, a multiple of "
     "this one, and its own shuffle, seed, epochs and drop_remainder; prefetch and the hosts are "
     "those of the whole.",
     required))

class MultiInput final : public Input {
 public:
  using Config = MultiConfig;
  MultiInput(const Config& config, InputContext& context);

  void start() override;
  std::optional<Batch> get_next() override;
  void reset() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  // Nothing where inputs have different numbers.
  std::optional<std::int64_t> batches_per_epoch() const override;

 private:
  struct Part {
    std::string name;
    ConfigOf<Input> config;
    std::string path;
    std::unique_ptr<Input> input;
  };
  // The batches of all parts, or nothing where all have ended.
  std::optional<std::vector<Batch>> next_batches();
  void check_lengths() const;
  void add(const Part& part, const Batch& batch, Batch& all, std::vector<float>& weights) const;

  std::int64_t rows_;
  std::string name_;
  std::vector<Part> parts_;
};

}  // namespace trivet::data

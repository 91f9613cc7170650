// SPDX-License-Identifier: Apache-2.0
// A fake DecoderState for tests of decoding: every sequence has its own logits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "lm/decoding/decode_config.h"
#include "lm/decoding/decoder_state.h"
#include "lm/decoding/sample_decode.h"
#include "trivet/tensor/random.h"

namespace trivet::lm {

using Tokens = std::vector<std::int32_t>;

// Computes logits from the whole sequence so far, so that a wrong history is detected.
class FakeModel final : public DecoderState {
 public:
  explicit FakeModel(std::int64_t vocabulary) : vocabulary_(vocabulary) {}

  std::int64_t vocabulary_size() const override { return vocabulary_; }

  std::vector<float> start(std::span<const Tokens> prompts) override {
    rows_.assign(prompts.begin(), prompts.end());
    return logits();
  }

  std::vector<float> extend(std::span<const std::int32_t> ids) override {
    REQUIRE(ids.size() == rows_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row].push_back(ids[row]);
    return logits();
  }

  void reorder(std::span<const std::int32_t> rows) override {
    std::vector<Tokens> reordered;
    for (const std::int32_t row : rows) {
      reordered.push_back(rows_.at(static_cast<std::size_t>(row)));
    }
    rows_ = std::move(reordered);
  }

  std::vector<float> logits_behind(const Tokens& sequence) const {
    RngKey key(7);
    for (const std::int32_t id : sequence) key = key.fold(static_cast<std::uint64_t>(id));
    std::vector<float> logits(static_cast<std::size_t>(vocabulary_));
    random_uniform(key, -2, 2, logits);
    return logits;
  }

  std::ptrdiff_t longest() const { return longest_; }

 private:
  std::vector<float> logits() {
    std::vector<float> all;
    for (const Tokens& row : rows_) {
      const std::vector<float> of_row = logits_behind(row);
      all.insert(all.end(), of_row.begin(), of_row.end());
      longest_ = std::max(longest_, std::ssize(row));
    }
    return all;
  }

  std::int64_t vocabulary_;
  std::vector<Tokens> rows_;
  std::ptrdiff_t longest_ = 0;
};

// Logits by a function of the step, the model's row and the sequence so far.
class ScriptedModel final : public DecoderState {
 public:
  using Script =
      std::function<std::vector<float>(std::size_t step, std::size_t row, const Tokens& sequence)>;
  ScriptedModel(std::int64_t vocabulary, Script script)
      : vocabulary_(vocabulary), script_(std::move(script)) {}

  std::int64_t vocabulary_size() const override { return vocabulary_; }
  std::vector<float> start(std::span<const Tokens> prompts) override {
    rows_.assign(prompts.begin(), prompts.end());
    return logits();
  }
  std::vector<float> extend(std::span<const std::int32_t> ids) override {
    REQUIRE(ids.size() == rows_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row].push_back(ids[row]);
    return logits();
  }
  void reorder(std::span<const std::int32_t> rows) override {
    std::vector<Tokens> reordered;
    for (const std::int32_t row : rows) {
      reordered.push_back(rows_.at(static_cast<std::size_t>(row)));
    }
    rows_ = std::move(reordered);
  }
  std::size_t calls() const { return calls_; }

 private:
  std::vector<float> logits() {
    std::vector<float> all;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const std::vector<float> own = script_(calls_, row, rows_[row]);
      all.insert(all.end(), own.begin(), own.end());
    }
    ++calls_;
    return all;
  }

  std::int64_t vocabulary_;
  Script script_;
  std::vector<Tokens> rows_;
  std::size_t calls_ = 0;
};

// One config for all rows.
inline std::vector<DecodedRow> sample(DecoderState& model, std::span<const Tokens> prompts,
                                      const DecodeConfig& config, const DecodeLimits& limits,
                                      std::span<const RngKey> keys, const OnToken& on_token = {}) {
  const SampleBatch batch{.prompts = prompts, .configs = {&config, 1}, .keys = keys};
  return sample_decode(model, batch, limits, on_token);
}

inline DecodeConfig greedy(std::int64_t steps) {
  DecodeConfig config;
  config.temperature = 0;
  config.max_decode_steps = steps;
  return config;
}

}  // namespace trivet::lm

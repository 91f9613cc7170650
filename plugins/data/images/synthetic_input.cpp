// SPDX-License-Identifier: Apache-2.0
#include "data/images/synthetic_input.h"

#include <cmath>

#include "data/images/normalizer.h"
#include "trivet/error.h"
#include "trivet/tensor/random.h"

namespace trivet::data {
namespace {

constexpr std::int64_t kBlock = 4;  // pixels: coarse enough to survive pooling
constexpr std::int64_t kMostPatternBytes = std::int64_t{1} << 30;

std::uint64_t unsigned_of(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

// Draws one pattern, upright and in pixel order: every pixel takes its block's shade.
void draw_pattern(RngKey key, const Shape& shape, std::span<std::uint8_t> out) {
  const std::int64_t width = shape[1], depth = shape[2];
  const std::int64_t blocks = (width + kBlock - 1) / kBlock;
  std::vector<std::uint32_t> shades(
      static_cast<std::size_t>((shape[0] + kBlock - 1) / kBlock * blocks * depth));
  random_bits(key, 0, shades);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t pixel = static_cast<std::int64_t>(i) / depth;
    const std::int64_t block = pixel / width / kBlock * blocks + pixel % width / kBlock;
    const std::int64_t channel = static_cast<std::int64_t>(i) % depth;
    out[i] =
        static_cast<std::uint8_t>(shades[static_cast<std::size_t>(block * depth + channel)] >> 24);
  }
}

class SyntheticSource final : public ExampleSource {
 public:
  SyntheticSource(const SyntheticConfig& config, const InputContext& context)
      : name_(context.name + " (data/Synthetic)"),
        shape_(config.image_shape),
        normalizer_(config, 1.0 / 255, shape_[-1], name_),
        examples_(config.examples),
        classes_(config.num_classes == 0 ? 10 : config.num_classes),
        noise_(static_cast<std::uint32_t>(std::lround(config.noise * 256))),
        key_(RngKey(unsigned_of(config.seed)).fold("examples").fold(split_of(config, context))),
        pattern_key_(RngKey(unsigned_of(config.template_seed)).fold("patterns")) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(shape_.size(), classes_, &bytes) || bytes > kMostPatternBytes) {
      throw InputError(name_ + ": images of " + shape_.to_string() + " in " +
                       std::to_string(classes_) + " classes are too large");
    }
    pixels_ = static_cast<std::size_t>(shape_.size());
    noise_words_.resize((pixels_ + 3) / 4);
    mixed_.resize(pixels_);
  }

  const std::string& name() const override { return name_; }
  std::int64_t examples() const override { return examples_; }
  const Shape& example_shape() const override { return shape_; }
  bool has_labels() const override { return true; }

  void load() override {
    patterns_.resize(pixels_ * static_cast<std::size_t>(classes_));
    for (std::int64_t c = 0; c < classes_; ++c) {
      draw_pattern(pattern_key_.fold(unsigned_of(c)), shape_, pattern(c));
    }
  }

  void read(std::int64_t example, std::span<float> out) override {
    read_bytes(example, mixed_);
    normalize(mixed_, out);
  }

  bool has_bytes() const override { return true; }
  void read_bytes(std::int64_t example, std::span<std::uint8_t> out) override {
    const auto from = pattern(label(example));
    random_bits(key_.fold(unsigned_of(example)), 0, noise_words_);
    for (std::size_t i = 0; i < pixels_; ++i) {
      const std::uint32_t random = noise_words_[i / 4] >> (8 * (i % 4)) & 255;
      out[i] = static_cast<std::uint8_t>((from[i] * (256 - noise_) + random * noise_) >> 8);
    }
  }
  void normalize(std::span<const std::uint8_t> bytes, std::span<float> out) const override {
    normalizer_.bytes(bytes, out);
  }

  std::int32_t label(std::int64_t example) const override {
    return static_cast<std::int32_t>(example % classes_);
  }

 private:
  static std::string split_of(const SyntheticConfig& config, const InputContext& context) {
    if (!config.split.empty()) return config.split;
    return context.phase == Phase::training ? "train" : "eval";
  }
  std::span<std::uint8_t> pattern(std::int64_t c) {
    return std::span(patterns_).subspan(static_cast<std::size_t>(c) * pixels_, pixels_);
  }

  std::string name_;
  Shape shape_;
  Normalizer normalizer_;
  std::int64_t examples_, classes_;
  std::uint32_t noise_;  // of 256
  RngKey key_, pattern_key_;
  std::size_t pixels_ = 0;
  std::vector<std::uint8_t> patterns_;      // [classes, pixels]
  std::vector<std::uint32_t> noise_words_;  // four pixels each
  std::vector<std::uint8_t> mixed_;
};

}  // namespace

void SyntheticConfig::validate(Diagnostics& diagnostics) const {
  InputConfig::validate(diagnostics);
  if (image_shape.size() != 3) {
    diagnostics.add("image_shape", "must have three numbers: height, width and depth");
  }
}

SyntheticInput::SyntheticInput(const Config& config, InputContext& context)
    : ExampleInput(config, context, std::make_unique<SyntheticSource>(config, context)) {}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
// ExampleSource provides examples; ExampleInput makes batches from any source.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/augmentation/random_resized_crop.h"
#include "data/images/augmenter.h"
#include "data/images/image_config.h"
#include "data/images/mixer.h"
#include "trivet/data/example_sampler.h"
#include "trivet/extensions/example_locations.h"
#include "trivet/input.h"

namespace trivet::data {

// A fixed number of examples in random access. The constructor determines sizes and shapes and
// throws InputError for errors that it can see without the data; load() reads the data.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  ExampleSource(const ExampleSource&) = delete;
  ExampleSource& operator=(const ExampleSource&) = delete;

  virtual const std::string& name() const = 0;  // for messages
  virtual std::int64_t examples() const = 0;
  virtual const Shape& example_shape() const = 0;  // NHWC without N, or any
  virtual bool has_labels() const = 0;

  // Reads the data into memory and checks all of it. Called once, before the functions below.
  // Throws InputError.
  virtual void load() = 0;
  // Writes one example, normalized.
  virtual void read(std::int64_t example, std::span<float> out) = 0;
  // Where examples are bytes before they are normalized: read() in two steps, so that bytes can be
  // changed between them.
  virtual bool has_bytes() const { return false; }
  virtual void read_bytes(std::int64_t, std::span<std::uint8_t>) {}
  virtual void normalize(std::span<const std::uint8_t>, std::span<float>) const {}
  // The part of the image that choose(height, width) names, resized to example_shape(), for images
  // of bytes. Sources that know an image in more detail take the part of that.
  using ChooseCrop = std::function<Crop(std::int64_t height, std::int64_t width)>;
  virtual void read_crop(std::int64_t example, const ChooseCrop& choose,
                         std::span<std::uint8_t> out);
  // Throws InputError if parts cannot be read. Called before load().
  virtual void check_crops() const {}
  virtual std::int32_t label(std::int64_t example) const = 0;
  // Where an example is, for outputs by example.
  virtual std::string location(std::int64_t example) const {
    return name() + ":" + std::to_string(example);
  }
  // Where labels have a share for each class: the number of classes, and the shares of an example,
  // in place of label().
  virtual std::int64_t label_classes() const { return 0; }
  virtual void read_shares(std::int64_t, std::span<float>) const {}

 protected:
  ExampleSource() = default;
};

// The constructor loads the data, also of an evaluation: a run must not train for hours before it
// finds a wrong file.
class ExampleInput : public Input, public ExampleLocations {
 public:
  std::optional<Batch> get_next() override;
  void reset() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  std::optional<std::int64_t> batches_per_epoch() const override;
  std::vector<std::string> locations() const override;

 protected:
  ExampleInput(const DatasetConfig& config, const InputContext& context,
               std::unique_ptr<ExampleSource> source);

 private:
  void read(std::int64_t epoch, std::int64_t example, std::span<float> out);
  // Mixes an image with its partner, if it has one, and adds the label to `shares`.
  void mix(const ExampleSampler::Sample& sample, std::span<float> image, std::span<float> shares);
  void add_label(std::int64_t example, float share, std::span<float> shares);

  std::string name_;
  std::unique_ptr<ExampleSource> source_;
  std::optional<Augmenter> augmenter_;  // in training, if augmentation is on
  std::optional<Mixer> mixer_;          // in training, if images are mixed
  std::int64_t label_classes_ = 0;      // columns of labels; 0: labels are numbers
  ExampleSampler order_;
  Shape batch_shape_;
  std::vector<ExampleSampler::Sample> samples_;
  std::vector<float> plain_;                               // one example before augmentation
  std::vector<std::uint8_t> plain_bytes_, changed_bytes_;  // the same of bytes, and after it
  std::vector<float> partner_;                             // the example to mix with
  std::vector<float> shares_;                              // the label of one example
};

}  // namespace trivet::data

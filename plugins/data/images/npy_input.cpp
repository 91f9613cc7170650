// SPDX-License-Identifier: Apache-2.0
#include "data/images/npy_input.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "data/formats/npy_file.h"
#include "data/images/normalizer.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// Three axes are images without a channel axis, so an axis of 1 is added.
Shape shape_of_example(const NpyFile& file) {
  const auto& extents = file.shape();
  if (extents.size() < 2) {
    throw InputError(file.name() + ": has one axis, so it holds labels, not examples",
                     {.hint = "are `images` and `labels` swapped?"});
  }
  std::vector<std::int64_t> shape;
  for (std::size_t axis = 1; axis < extents.size(); ++axis) shape.push_back(extents[axis]);
  if (shape.size() == 2) shape.push_back(1);
  return Shape(shape);
}

class NpySource final : public ExampleSource {
 public:
  explicit NpySource(const NpyConfig& config)
      : images_(config.images.text, config.limit.count),
        shape_(shape_of_example(images_)),
        normalizer_(config, images_.type() == NpyType::u1 ? 1.0 / 255 : 1.0, shape_[-1],
                    images_.name()),
        num_classes_(config.num_classes) {
    if (config.labels.empty()) return;
    labels_.emplace(config.labels.text, config.limit.count);
    if (labels_->shape().size() > 2) {
      throw InputError(labels_->name() + ": has " + std::to_string(labels_->shape().size()) +
                           " axes; labels have one, or two with a share for each class",
                       {.hint = "are `images` and `labels` swapped?"});
    }
    if (label_classes() > 0) {
      check_classes();
    } else if (labels_->type() == NpyType::f4 || labels_->type() == NpyType::f8) {
      throw InputError(labels_->name() + ": labels must be integers, not floating point",
                       {.hint = "labels of two axes may have a share for each class"});
    }
    if (labels_->records() != images_.records()) {
      throw InputError(labels_->name() + ": " + std::to_string(labels_->records()) +
                       " labels do not fit the " + std::to_string(images_.records()) +
                       " examples of " + images_.name());
    }
  }

  const std::string& name() const override { return images_.name(); }
  std::int64_t examples() const override { return images_.records(); }
  const Shape& example_shape() const override { return shape_; }
  bool has_labels() const override { return labels_.has_value(); }
  std::int64_t label_classes() const override {
    return labels_ && labels_->shape().size() == 2 ? labels_->shape()[1] : 0;
  }

  void load() override {
    if (label_classes() > 0) {
      check_shares();
    } else if (labels_) {
      check_labels();
    }
    images_.load();
  }

  void read(std::int64_t example, std::span<float> out) override {
    const std::int64_t elements = images_.record_elements();
    const auto first = static_cast<std::size_t>(example * elements);
    if (images_.type() == NpyType::u1) {
      return normalizer_.bytes({images_.elements() + first, out.size()}, out);
    }
    if (images_.type() == NpyType::f4 && normalizer_.identity()) {
      std::memcpy(out.data(), images_.elements() + first * sizeof(float), out.size_bytes());
      return;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = normalizer_.one(images_.number(static_cast<std::int64_t>(first + i)), i);
    }
  }

  bool has_bytes() const override { return images_.type() == NpyType::u1; }
  void read_bytes(std::int64_t example, std::span<std::uint8_t> out) override {
    std::copy_n(images_.elements() + example * images_.record_elements(), out.size(), out.begin());
  }
  void normalize(std::span<const std::uint8_t> bytes, std::span<float> out) const override {
    normalizer_.bytes(bytes, out);
  }

  std::int32_t label(std::int64_t example) const override {
    return static_cast<std::int32_t>(labels_->integer(example));
  }

  void read_shares(std::int64_t example, std::span<float> out) const override {
    for (std::int64_t c = 0; c < label_classes(); ++c) {
      out[static_cast<std::size_t>(c)] =
          static_cast<float>(labels_->number(example * label_classes() + c));
    }
  }

 private:
  void check_classes() const {
    if (label_classes() < 2) {
      throw InputError(labels_->name() + ": has 2 axes; labels have one, or two with a share for " +
                       "each of two or more classes");
    }
    if (num_classes_ == 0 || num_classes_ == label_classes()) return;
    throw InputError(labels_->name() + ": has labels of " + std::to_string(label_classes()) +
                     " classes, and num_classes is " + std::to_string(num_classes_));
  }

  void check_shares() const {
    const std::int64_t numbers = labels_->records() * label_classes();
    for (std::int64_t i = 0; i < numbers; ++i) {
      const double share = labels_->number(i);
      if (share >= 0 && share <= 1) continue;
      throw InputError(labels_->name() + ": record " + std::to_string(i / label_classes()) +
                       " has " + std::to_string(share) + " for class " +
                       std::to_string(i % label_classes()) + ", which is not in 0 to 1");
    }
  }

  void check_labels() const {
    const std::int64_t most =
        num_classes_ > 0 ? num_classes_ - 1 : std::numeric_limits<std::int32_t>::max();
    for (std::int64_t i = 0; i < labels_->records(); ++i) {
      const std::int64_t label = labels_->integer(i);
      if (label >= 0 && label <= most) continue;
      throw InputError(labels_->name() + ": label " + std::to_string(label) + " of record " +
                       std::to_string(i) + " is not in 0 to " + std::to_string(most));
    }
  }

  NpyFile images_;
  Shape shape_;
  Normalizer normalizer_;
  std::optional<NpyFile> labels_;
  std::int64_t num_classes_;
};

}  // namespace

NpyInput::NpyInput(const Config& config, InputContext& context)
    : ExampleInput(config_for(config, context), context,
                   std::make_unique<NpySource>(config_for(config, context))) {}

const void* NpyInput::extension(std::string_view id) const noexcept {
  if (id == kInputExamples) return static_cast<const ExampleLocations*>(this);
  return Input::extension(id);
}

}  // namespace trivet::data

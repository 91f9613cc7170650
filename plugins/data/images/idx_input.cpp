// SPDX-License-Identifier: Apache-2.0
#include "data/images/idx_input.h"

#include <algorithm>
#include <optional>

#include "data/formats/idx_file.h"
#include "data/images/normalizer.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// [height, width, channels] for files of images; the file's own axes for other data.
Shape shape_of_example(const IdxFile& file, std::int64_t channels) {
  const auto& extents = file.extents();
  if (extents.size() < 2) {
    throw InputError(file.name() + ": has one axis, so it holds labels, not images",
                     {.hint = "are `images` and `labels` swapped?"});
  }
  std::vector<std::int64_t> shape;
  for (std::size_t axis = 1; axis < extents.size(); ++axis) shape.push_back(extents[axis]);
  if (shape.size() == 2) shape.push_back(1);
  if (channels != 0 && (shape.size() < 3 || shape.back() != channels)) {
    throw InputError(file.name() + ": examples have the shape " + Shape(shape).to_string() +
                     ", which is not an image with " + std::to_string(channels) + " channels");
  }
  return Shape(shape);
}

class IdxSource final : public ExampleSource {
 public:
  explicit IdxSource(const IdxConfig& config)
      : images_(config.images.text, config.limit.count),
        shape_(shape_of_example(images_, config.channels)),
        normalizer_(config, 1.0 / 255, shape_[-1], images_.name()),
        num_classes_(config.num_classes) {
    if (config.labels.empty()) return;
    labels_.emplace(config.labels.text, config.limit.count);
    if (labels_->extents().size() != 1) {
      throw InputError(labels_->name() + ": has " + std::to_string(labels_->extents().size()) +
                           " axes; labels have one",
                       {.hint = "are `images` and `labels` swapped?"});
    }
    if (labels_->records() != images_.records()) {
      throw InputError(labels_->name() + ": " + std::to_string(labels_->records()) +
                       " labels do not fit the " + std::to_string(images_.records()) +
                       " images of " + images_.name());
    }
  }

  const std::string& name() const override { return images_.name(); }
  std::int64_t examples() const override { return images_.records(); }
  const Shape& example_shape() const override { return shape_; }
  bool has_labels() const override { return labels_.has_value(); }

  // Checks labels first: they load fast and are more often wrong.
  void load() override {
    if (labels_) {
      labels_->load();
      check_labels();
    }
    images_.load();
  }

  void read(std::int64_t example, std::span<float> out) override {
    normalize(bytes_of(example), out);
  }

  bool has_bytes() const override { return true; }
  void read_bytes(std::int64_t example, std::span<std::uint8_t> out) override {
    std::ranges::copy(bytes_of(example), out.begin());
  }
  void normalize(std::span<const std::uint8_t> bytes, std::span<float> out) const override {
    normalizer_.bytes(bytes, out);
  }

  std::int32_t label(std::int64_t example) const override {
    return labels_->elements()[static_cast<std::size_t>(example)];
  }

 private:
  std::span<const std::uint8_t> bytes_of(std::int64_t example) const {
    const auto bytes = static_cast<std::size_t>(images_.record_bytes());
    return images_.elements().subspan(static_cast<std::size_t>(example) * bytes, bytes);
  }

  void check_labels() const {
    if (num_classes_ == 0) return;
    const auto labels = labels_->elements();
    const auto wrong = std::ranges::find_if(labels, [&](int l) { return l >= num_classes_; });
    if (wrong != labels.end()) {
      throw InputError(labels_->name() + ": label " + std::to_string(*wrong) + " of record " +
                       std::to_string(wrong - labels.begin()) +
                       " is not below num_classes = " + std::to_string(num_classes_));
    }
  }

  IdxFile images_;
  Shape shape_;
  Normalizer normalizer_;
  std::optional<IdxFile> labels_;
  std::int64_t num_classes_;
};

}  // namespace

IdxInput::IdxInput(const Config& config, InputContext& context)
    : ExampleInput(config_for(config, context), context,
                   std::make_unique<IdxSource>(config_for(config, context))) {}

const void* IdxInput::extension(std::string_view id) const noexcept {
  if (id == kInputExamples) return static_cast<const ExampleLocations*>(this);
  return Input::extension(id);
}

}  // namespace trivet::data

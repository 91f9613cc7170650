// SPDX-License-Identifier: Apache-2.0
#include "data/images/example_source.h"

#include <algorithm>
#include <utility>

#include "data/images/resize.h"

namespace trivet::data {
namespace {

Shape with_batch(std::int64_t batch, const Shape& example) {
  std::vector<std::int64_t> extents = {batch};
  extents.insert(extents.end(), example.begin(), example.end());
  return Shape(extents);
}

}  // namespace

void ExampleSource::read_crop(std::int64_t example, const ChooseCrop& choose,
                              std::span<std::uint8_t> out) {
  const Shape& shape = example_shape();
  Pixels image{shape[0], shape[1], shape[2], std::vector<std::uint8_t>(out.size())};
  read_bytes(example, image.values);
  std::ranges::copy(resized(image, choose(shape[0], shape[1]), shape[0], shape[1]).values,
                    out.begin());
}

ExampleInput::ExampleInput(const DatasetConfig& config, const InputContext& context,
                           std::unique_ptr<ExampleSource> source)
    : name_(context.name),
      source_(std::move(source)),
      order_(config, context.phase, source_->examples(), source_->name()),
      batch_shape_(with_batch(config.batch_size, source_->example_shape())) {
  Augmenter augmenter(config, source_->example_shape(), source_->has_bytes(), source_->name());
  Mixer mixer(config, source_->example_shape(), source_->examples(), source_->name());
  if (context.phase == Phase::training && augmenter.active()) {
    if (augmenter.crops()) source_->check_crops();
    augmenter_ = std::move(augmenter);
  }
  label_classes_ = source_->label_classes();
  if (context.phase == Phase::training && mixer.active()) {
    if (!source_->has_labels()) {
      throw InputError(source_->name() + ": has no labels, so images cannot be mixed",
                       {.hint = "set augment.mixup_alpha and augment.cutmix_alpha to 0"});
    }
    if (label_classes_ == 0) label_classes_ = config.num_classes;
    if (label_classes_ == 0) {
      throw InputError(source_->name() + ": mixed images need num_classes",
                       {.hint = "set the input's num_classes to that of the task"});
    }
    mixer_ = mixer;
  }
  source_->load();
}

std::optional<Batch> ExampleInput::get_next() {
  if (!order_.next(samples_)) return std::nullopt;
  Tensor image = Tensor::host(batch_shape_);
  const auto pixels = image.mutable_span<float>();
  const std::size_t each = static_cast<std::size_t>(source_->example_shape().size());
  const auto columns = static_cast<std::size_t>(label_classes_);
  Batch batch;
  std::span<float> shares;
  if (columns > 0) {
    Tensor label = Tensor::host({batch_shape_[0], label_classes_});
    shares = label.mutable_span<float>();
    std::ranges::fill(shares, 0.0F);
    batch.set("label", std::move(label));
  }
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const auto pixels_of_one = pixels.subspan(i * each, each);
    read(samples_[i].epoch, samples_[i].example, pixels_of_one);
    if (columns > 0) mix(samples_[i], pixels_of_one, shares.subspan(i * columns, columns));
  }
  batch.set("image", std::move(image));
  if (columns == 0 && source_->has_labels()) {
    Tensor label = Tensor::host({batch_shape_[0]}, DType::i32);
    std::ranges::transform(samples_, label.mutable_span<std::int32_t>().begin(),
                           [&](const auto& sample) { return source_->label(sample.example); });
    batch.set("label", std::move(label));
  }
  batch.set("weight", order_.weights(samples_));
  return batch;
}

void ExampleInput::read(std::int64_t epoch, std::int64_t example, std::span<float> out) {
  if (!augmenter_) return source_->read(example, out);
  if (augmenter_->changes_bytes()) {
    plain_bytes_.resize(out.size());
    changed_bytes_.resize(out.size());
    if (augmenter_->crops()) {
      const auto choose = [&](std::int64_t height, std::int64_t width) {
        return augmenter_->crop(epoch, example, height, width);
      };
      source_->read_crop(example, choose, plain_bytes_);
    } else {
      source_->read_bytes(example, plain_bytes_);
    }
    augmenter_->change_bytes(epoch, example, plain_bytes_, changed_bytes_);
    source_->normalize(changed_bytes_, out);
  } else {
    plain_.resize(out.size());
    source_->read(example, plain_);
    augmenter_->change(epoch, example, plain_, out);
  }
  augmenter_->erase(epoch, example, out);
}

void ExampleInput::mix(const ExampleSampler::Sample& sample, std::span<float> image,
                       std::span<float> shares) {
  const auto mix = mixer_ ? mixer_->mix_of(sample.epoch, sample.example) : std::nullopt;
  if (!mix) return add_label(sample.example, 1, shares);
  partner_.resize(image.size());
  read(sample.epoch, mix->partner, partner_);
  mixer_->apply(*mix, partner_, image);
  add_label(sample.example, static_cast<float>(mix->own_share), shares);
  add_label(mix->partner, static_cast<float>(1 - mix->own_share), shares);
}

void ExampleInput::add_label(std::int64_t example, float share, std::span<float> shares) {
  if (source_->label_classes() == 0) {
    shares[static_cast<std::size_t>(source_->label(example))] += share;
    return;
  }
  shares_.resize(shares.size());
  source_->read_shares(example, shares_);
  for (std::size_t c = 0; c < shares.size(); ++c) shares[c] += share * shares_[c];
}

void ExampleInput::reset() {
  order_.reset();
}

Value ExampleInput::save_state() const {
  return order_.save_state();
}

void ExampleInput::restore_state(const Value& state) {
  order_.restore_state(state, name_);
}

std::vector<std::string> ExampleInput::locations() const {
  std::vector<std::string> locations;
  for (const ExampleSampler::Sample& sample : samples_) {
    locations.push_back(source_->location(sample.example));
  }
  return locations;
}

std::optional<std::int64_t> ExampleInput::batches_per_epoch() const {
  return order_.batches_per_epoch();
}

}  // namespace trivet::data

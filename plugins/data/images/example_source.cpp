// SPDX-License-Identifier: Apache-2.0
#include "data/images/example_source.h"

#include <algorithm>
#include <utility>

namespace trivet::data {
namespace {

Shape with_batch(std::int64_t batch, const Shape& example) {
  std::vector<std::int64_t> extents = {batch};
  extents.insert(extents.end(), example.begin(), example.end());
  return Shape(extents);
}

}  // namespace

ExampleInput::ExampleInput(const DatasetConfig& config, const InputContext& context,
                           std::unique_ptr<ExampleSource> source)
    : name_(context.name),
      source_(std::move(source)),
      order_(config, context.phase, source_->examples(), source_->name()),
      batch_shape_(with_batch(config.batch_size, source_->example_shape())) {
  Augmenter augmenter(config, source_->example_shape(), source_->name());
  if (context.phase == Phase::training && augmenter.active()) augmenter_ = std::move(augmenter);
  source_->load();
}

std::optional<Batch> ExampleInput::get_next() {
  if (!order_.next(samples_)) return std::nullopt;
  Tensor image = Tensor::host(batch_shape_);
  const auto pixels = image.mutable_span<float>();
  const std::size_t each = static_cast<std::size_t>(source_->example_shape().size());
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    read(samples_[i], pixels.subspan(i * each, each));
  }
  Batch batch;
  batch.set("image", std::move(image));
  if (source_->has_labels()) {
    Tensor label = Tensor::host({batch_shape_[0]}, DType::i32);
    std::ranges::transform(samples_, label.mutable_span<std::int32_t>().begin(),
                           [&](const auto& sample) { return source_->label(sample.example); });
    batch.set("label", std::move(label));
  }
  batch.set("weight", order_.weights(samples_));
  return batch;
}

void ExampleInput::read(const ExampleSampler::Sample& sample, std::span<float> out) {
  if (!augmenter_) return source_->read(sample.example, out);
  plain_.resize(out.size());
  source_->read(sample.example, plain_);
  augmenter_->apply(sample.epoch, sample.example, plain_, out);
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
    locations.push_back(source_->name() + ":" + std::to_string(sample.example));
  }
  return locations;
}

std::optional<std::int64_t> ExampleInput::batches_per_epoch() const {
  return order_.batches_per_epoch();
}

}  // namespace trivet::data

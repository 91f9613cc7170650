// SPDX-License-Identifier: Apache-2.0
#include "example_source.h"

#include <algorithm>
#include <future>
#include <utility>

#include "trivet/error.h"

namespace trivet::data {
namespace {

Shape with_batch(std::int64_t batch, const Shape& example) {
  std::vector<std::int64_t> extents = {batch};
  extents.insert(extents.end(), example.begin(), example.end());
  return Shape(extents);
}

std::int64_t saved_number(const Value& state, std::string_view key, const std::string& name) {
  const Value* value = state.find(key);
  if (value == nullptr || !value->is_integer() || value->as_integer() < 0)
    throw InputError(name + ": the saved state has no count \"" + std::string(key) + "\"");
  return value->as_integer();
}

}  // namespace

// Shared, because get() of it throws the same error as often as it is asked.
struct ExampleInput::Loading {
  std::shared_future<void> done;
};

ExampleInput::ExampleInput(const DatasetConfig& config, const InputContext& context,
                           std::unique_ptr<ExampleSource> source)
    : name_(context.name),
      source_(std::move(source)),
      loading_(std::make_unique<Loading>()),
      order_(config, context.training, source_->examples(), source_->name()),
      batch_shape_(with_batch(config.batch_size, source_->example_shape())) {
  Augmenter augmenter(config, source_->example_shape(), source_->name());
  if (context.training && augmenter.active()) augmenter_ = std::move(augmenter);
  const auto when = context.training ? std::launch::async : std::launch::deferred;
  loading_->done = std::async(when, [from = source_.get()] { from->load(); }).share();
}

// Declared before the source's end: waits for the loading thread, which uses it.
ExampleInput::~ExampleInput() {
  loading_.reset();
}

std::optional<Batch> ExampleInput::get_next() {
  loading_->done.get();
  if (!order_.next(slots_)) return std::nullopt;
  Tensor image = Tensor::host(batch_shape_);
  const auto pixels = image.mutable_span<float>();
  const std::size_t each = static_cast<std::size_t>(source_->example_shape().size());
  for (std::size_t i = 0; i < slots_.size(); ++i) read(slots_[i], pixels.subspan(i * each, each));
  Batch batch;
  batch.set("image", std::move(image));
  if (source_->has_labels()) {
    Tensor label = Tensor::host({batch_shape_[0]}, DType::i32);
    std::ranges::transform(slots_, label.mutable_span<std::int32_t>().begin(),
                           [&](const auto& slot) { return source_->label(slot.example); });
    batch.set("label", std::move(label));
  }
  batch.set("weight", weights());
  return batch;
}

void ExampleInput::read(const ExampleOrder::Slot& slot, std::span<float> out) {
  if (!augmenter_) return source_->read(slot.example, out);
  plain_.resize(out.size());
  source_->read(slot.example, plain_);
  augmenter_->apply(slot.epoch, slot.example, plain_, out);
}

Tensor ExampleInput::weights() {
  const bool whole = std::ranges::all_of(slots_, &ExampleOrder::Slot::real);
  if (whole && ones_.defined()) return ones_;
  Tensor weight = Tensor::host({batch_shape_[0]});
  std::ranges::transform(slots_, weight.mutable_span<float>().begin(),
                         [](const auto& slot) { return slot.real ? 1.0F : 0.0F; });
  if (whole) ones_ = weight;
  return weight;
}

void ExampleInput::reset() {
  order_.set_state({});
}

Value ExampleInput::save_state() const {
  return Value::table({{"epoch", order_.state().epoch},
                       {"position", order_.state().position},
                       {"examples", order_.examples()}});
}

void ExampleInput::restore_state(const Value& state) {
  const OrderState place{saved_number(state, "epoch", name_),
                         saved_number(state, "position", name_)};
  const std::int64_t examples = saved_number(state, "examples", name_);
  if (examples != order_.examples())
    throw InputError(name_ + ": the state was saved with " + std::to_string(examples) +
                         " examples, but " + source_->name() + " has " +
                         std::to_string(order_.examples()),
                     {.hint = "continue with the same data, or start a new run"});
  if (place.position >= examples)
    throw InputError(name_ + ": the saved state stands behind the last example");
  order_.set_state(place);
}

std::optional<std::int64_t> ExampleInput::batches_per_epoch() const {
  return order_.batches_per_epoch();
}

}  // namespace trivet::data

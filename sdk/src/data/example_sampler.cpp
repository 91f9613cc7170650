// SPDX-License-Identifier: Apache-2.0
#include "trivet/data/example_sampler.h"

#include <algorithm>
#include <utility>

#include "trivet/error.h"

namespace trivet {
namespace {

std::int64_t saved_count(const Value& state, std::string_view key, const std::string& input) {
  const Value* value = state.find(key);
  if (value == nullptr || !value->is_integer() || value->as_integer() < 0) {
    throw InputError(input + ": the saved state has no count \"" + std::string(key) + "\"");
  }
  return value->as_integer();
}

}  // namespace

ExampleSampler::ExampleSampler(const InputConfig& config, Phase phase, std::int64_t examples,
                               std::string data)
    : data_(std::move(data)),
      examples_(examples),
      batch_(config.batch_size),
      epochs_(config.epochs == 0 && phase == Phase::evaluation ? 1 : config.epochs),
      shuffle_(config.shuffle),
      pad_(!config.drop_remainder),
      key_(RngKey(static_cast<std::uint64_t>(config.seed)).fold("order")) {
  if (__builtin_mul_overflow(batch_, config.num_infeed_hosts, &global_batch_) ||
      global_batch_ > std::int64_t{1} << 40) {
    throw InputError(data_ + ": batch_size times num_infeed_hosts is out of range");
  }
  first_of_host_ = batch_ * config.infeed_host_index;
  if (examples_ == 0) throw InputError(data_ + ": there are no examples");
  if (!pad_ && examples_ < global_batch_) {
    throw InputError(data_ + ": " + std::to_string(examples_) +
                         " examples do not fill one batch of " + std::to_string(global_batch_),
                     {.hint = "set drop_remainder = false, or a smaller batch_size"});
  }
}

std::int64_t ExampleSampler::batches_per_epoch() const {
  return (examples_ + (pad_ ? global_batch_ - 1 : 0)) / global_batch_;
}

Value ExampleSampler::save_state() const {
  return Value::table(
      {{"epoch", location_.epoch}, {"position", location_.position}, {"examples", examples_}});
}

void ExampleSampler::restore_state(const Value& state, const std::string& input) {
  const Location location{saved_count(state, "epoch", input),
                          saved_count(state, "position", input)};
  const std::int64_t examples = saved_count(state, "examples", input);
  if (examples != examples_) {
    throw InputError(input + ": the state was saved with " + std::to_string(examples) +
                         " examples, but " + data_ + " has " + std::to_string(examples_),
                     {.hint = "continue with the same data, or start a new run"});
  }
  if (location.position >= examples) {
    throw InputError(input + ": the saved state is past the last example");
  }
  location_ = location;
}

Tensor ExampleSampler::weights(const std::vector<Sample>& samples) {
  const bool whole = std::ranges::all_of(samples, &Sample::real);
  if (whole && ones_.defined()) return ones_;
  Tensor weight = Tensor::host({static_cast<std::int64_t>(samples.size())});
  std::ranges::transform(samples, weight.mutable_span<float>().begin(),
                         [](const Sample& sample) { return sample.real ? 1.0F : 0.0F; });
  if (whole) ones_ = weight;
  return weight;
}

std::int64_t ExampleSampler::example_at(std::int64_t position) {
  if (!shuffle_) return position;
  if (permutation_epoch_ != location_.epoch) {
    permutation_.emplace(key_.fold(static_cast<std::uint64_t>(location_.epoch)),
                         static_cast<std::uint64_t>(examples_));
    permutation_epoch_ = location_.epoch;
  }
  return static_cast<std::int64_t>((*permutation_)(static_cast<std::uint64_t>(position)));
}

bool ExampleSampler::next(std::vector<Sample>& samples) {
  // A state saved with another batch size may be at a position where no full batch is left.
  if (!pad_ && location_.position + global_batch_ > examples_) location_ = {location_.epoch + 1, 0};
  if (epochs_ > 0 && location_.epoch >= epochs_) return false;
  samples.resize(static_cast<std::size_t>(batch_));
  std::int64_t position = location_.position + first_of_host_;
  for (Sample& sample : samples) {
    sample = {example_at(position % examples_), position < examples_, location_.epoch};
    ++position;
  }
  location_.position += global_batch_;
  const bool ended =
      pad_ ? location_.position >= examples_ : location_.position + global_batch_ > examples_;
  if (ended) location_ = {location_.epoch + 1, 0};
  return true;
}

}  // namespace trivet

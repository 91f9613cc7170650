// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <algorithm>
#include <utility>

#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"

namespace trivet::multitask {
namespace {

const Value& member(const Value& state, const std::string& key) {
  return state.at(key, "the state of the tasks' inputs",
                  "the checkpoint was saved with other tasks");
}

// Concatenates the weights of `first`, which may be undefined, and those of the batch.
Tensor with_weights_of(const Batch& batch, const Tensor* first) {
  const std::int64_t before = first != nullptr ? first->dim(0) : 0, rows = rows_of(batch);
  Tensor all = Tensor::host({before + rows});
  const auto out = all.mutable_span<float>();
  std::fill(out.begin(), out.end(), 1.0F);
  if (first != nullptr) {
    const auto values = first->span<float>();
    std::copy(values.begin(), values.end(), out.begin());
  }
  const Tensor* weights = batch.find("weight");
  if (weights != nullptr && weights->on_host() && weights->dtype() == DType::f32) {
    const auto values = weights->span<float>();
    std::copy(values.begin(), values.end(), out.begin() + before);
  }
  return all;
}

}  // namespace

std::int64_t rows_of(const Batch& batch) {
  if (batch.empty() || batch.begin()->second.rank() == 0) return 0;
  return batch.begin()->second.dim(0);
}

void add_batch(Batch& all, const std::string& name, const Batch& batch) {
  Batch out{{"weight", with_weights_of(batch, all.find("weight"))}};
  for (const auto& [path, tensor] : all) {
    if (path != "weight") out.set(path, tensor);
  }
  for (const auto& [path, tensor] : batch) out.set(name + "/" + path, tensor);
  all = std::move(out);
}

void SourcesInput::start() {
  for (Source& source : sources_) {
    in_plugin(item_of(*source.input), "start", source.config.path(),
              [&] { source.input->start(); });
  }
}

void SourcesInput::reset() {
  for (Source& source : sources_) source.input->reset();
  given_ = source_ = of_turn_ = 0;
}

Value SourcesInput::save_state() const {
  Value inputs = Value::table();
  for (const Source& source : sources_) inputs.set(source.name, source.input->save_state());
  return Value::table({{"given", given_},
                       {"source", source_},
                       {"of_turn", of_turn_},
                       {"inputs", std::move(inputs)}});
}

void SourcesInput::restore_state(const Value& state) {
  given_ = member(state, "given").as_integer();
  source_ = member(state, "source").as_integer();
  of_turn_ = member(state, "of_turn").as_integer();
  for (Source& source : sources_) {
    source.input->restore_state(member(member(state, "inputs"), source.name));
  }
}

bool SourcesInput::add(std::size_t index, Batch& out) {
  Source& source = sources_[index];
  const std::optional<Batch> batch = next_batch(*source.input, source.config);
  if (!batch) return false;
  add_batch(out, source.name, *batch);
  return true;
}

std::optional<Batch> InterleavedInput::get_next() {
  Batch batch;
  if (!add(sampler_.draw(given_), batch)) return std::nullopt;
  ++given_;
  return batch;
}

std::optional<Batch> JointInput::get_next() {
  Batch batch;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (!add(i, batch)) return std::nullopt;
  }
  ++given_;
  return batch;
}

std::optional<Batch> InTurnInput::get_next() {
  while (std::cmp_less(source_, sources_.size())) {
    const auto index = static_cast<std::size_t>(source_);
    const Source& source = sources_[index];
    Batch batch;
    if ((source.limit < 0 || of_turn_ < source.limit) && add(index, batch)) {
      ++of_turn_;
      ++given_;
      return batch;
    }
    if (of_turn_ == 0) {
      throw InputError("the evaluation data of task '" + source.name + "' has no batches",
                       {.path = source.config.path()});
    }
    ++source_;
    of_turn_ = 0;
  }
  return std::nullopt;
}

}  // namespace trivet::multitask

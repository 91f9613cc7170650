// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/rows_input.h"

#include <algorithm>
#include <future>
#include <utility>

#include "trivet/error.h"

namespace trivet::data {
namespace {

// Features that give each token's position and whether it counts. The text shows them.
constexpr const char* kOfTokens[] = {"ids",         "labels",         "label_bytes",
                                     "paddings",    "weights",        "inputs_indicator",
                                     "segment_ids", "token_type_ids", "segment_pos"};

void add_text(std::vector<BatchText>& texts, const std::string& name, const TextSide& side,
              const std::string& prefix, const char* ids) {
  if (!side.tokenizer) return;
  BatchText text{.name = name,
                 .ids = prefix + ids,
                 .segment_ids = prefix + "segment_ids",
                 .told = {"weight"},
                 .tokenizer = side.tokenizer.get()};
  for (const char* field : kOfTokens) text.told.push_back(prefix + field);
  texts.push_back(std::move(text));
}

}  // namespace

struct RowsInput::Loaded {
  std::unique_ptr<SequenceDataset> rows;
  ExampleSampler order;
};

// Shared, because each get() of a shared future throws the same error again.
struct RowsInput::Loading {
  std::shared_future<std::shared_ptr<Loaded>> done;
};

RowsInput::RowsInput(const InputConfig& config, const InputContext& context,
                     const std::string& data, TextSides sides, Load load)
    : name_(context.name), sides_(std::move(sides)), loading_(std::make_unique<Loading>()) {
  const auto when = context.phase == Phase::training ? std::launch::async : std::launch::deferred;
  auto body = [config, phase = context.phase, data, load = std::move(load)] {
    std::unique_ptr<SequenceDataset> rows = load();
    if (rows->rows() == 0) {
      throw InputError(data + ": no document is long enough to make a row",
                       {.hint = "a document needs a token to predict and one before it"});
    }
    ExampleSampler order(config, phase, rows->rows(), data);
    return std::make_shared<Loaded>(Loaded{std::move(rows), std::move(order)});
  };
  loading_->done = std::async(when, std::move(body)).share();
}

RowsInput::RowsInput(const InputConfig& config, const InputContext& context,
                     const std::string& data, TextSides sides, Load load,
                     LoadExamples load_examples)
    : RowsInput(config, context, data, std::move(sides), std::move(load)) {
  load_examples_ = std::move(load_examples);
  batch_size_ = config.batch_size;
  if (load_examples_ && !context.examples.empty()) given_.emplace(context.examples);
}

RowsInput::~RowsInput() = default;

RowsInput::Loaded& RowsInput::loaded() const {
  return *loading_->done.get();
}

bool RowsInput::take_examples() {
  if (!given_->take(batch_size_)) return false;
  given_rows_ = load_examples_(*given_);
  next_given_row_ = 0;
  const std::int64_t examples = std::ssize(given_->locations()), rows = given_rows_->rows();
  if (rows == 0 || given_rows_->example(rows - 1) + 1 != examples) {
    throw InputError(given_->locations().front() + ": this example or one of the next " +
                         std::to_string(examples - 1) + " does not make one row",
                     {.hint = "an example may be longer than a row; --batch 1 names the one"});
  }
  return true;
}

std::optional<Batch> RowsInput::next_examples() {
  const bool has_rows = given_rows_ != nullptr && next_given_row_ < given_rows_->rows();
  if (!has_rows && !take_examples()) return std::nullopt;
  rows_.clear();
  locations_.clear();
  const std::int64_t end = std::min(given_rows_->rows(), next_given_row_ + batch_size_);
  for (; next_given_row_ < end; ++next_given_row_) {
    rows_.push_back({.row = next_given_row_});
    const auto example = static_cast<std::size_t>(given_rows_->example(next_given_row_));
    locations_.push_back(given_->locations()[example]);
  }
  return given_rows_->batch(rows_);
}

std::vector<std::string> RowsInput::locations() const {
  return locations_;
}

std::optional<Batch> RowsInput::get_next() {
  if (given_) return next_examples();
  Loaded& data = loaded();
  if (!data.order.next(samples_)) return std::nullopt;
  rows_.clear();
  for (const ExampleSampler::Sample& sample : samples_) {
    rows_.push_back({sample.example, sample.real, sample.epoch});
  }
  Batch batch = data.rows->batch(rows_);
  batch.set("weight", data.order.weights(samples_));
  return batch;
}

void RowsInput::reset() {
  loaded().order.reset();
}

Value RowsInput::save_state() const {
  Value state = loaded().order.save_state();
  state.set("rows", loaded().rows->fingerprint());
  return state;
}

void RowsInput::restore_state(const Value& state) {
  Loaded& data = loaded();
  if (state.string_or("rows") != data.rows->fingerprint()) {
    throw InputError(name_ + ": the state was saved with different text, tokenizer or rows",
                     {.hint = "continue with the same data, or start a new run"});
  }
  data.order.restore_state(state, name_);
}

std::optional<std::int64_t> RowsInput::batches_per_epoch() const {
  if (given_) return std::nullopt;
  return loaded().order.batches_per_epoch();
}

const void* RowsInput::extension(std::string_view id) const noexcept {
  if (id == kInputText) return static_cast<const TextInput*>(this);
  if (id == kInputExamples && load_examples_) return static_cast<const ExampleLocations*>(this);
  return Input::extension(id);
}

std::vector<BatchText> RowsInput::texts() const {
  std::vector<BatchText> texts;
  for (const std::string& prefix : sides_.only_prefixes) {
    const std::string name = prefix.empty() ? "text" : prefix.substr(0, prefix.size() - 1);
    add_text(texts, name, sides_.only, prefix, sides_.only_ids);
  }
  add_text(texts, "source", sides_.source, "src/", "ids");
  add_text(texts, "target", sides_.target, "tgt/", "labels");
  return texts;
}

const TextSide& RowsInput::side_of(Side side) const {
  switch (side) {
    case Side::source:
      return sides_.source;
    case Side::target:
      return sides_.target;
    case Side::only:
      break;
  }
  return sides_.only;
}

}  // namespace trivet::data

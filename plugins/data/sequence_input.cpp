// SPDX-License-Identifier: Apache-2.0
#include "sequence_input.h"

#include <future>
#include <utility>

#include "preparation.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// BOS or EOS as asked for: unset is "where there is one".
std::optional<std::int32_t> mark(const char* name, std::optional<bool> add,
                                 std::optional<std::int32_t> given,
                                 std::optional<std::int32_t> tokenizers_own,
                                 std::int64_t vocabulary_size, const std::string& input) {
  if (!add.value_or(given.has_value() || tokenizers_own.has_value())) return std::nullopt;
  const std::string field = input + "." + name + "_id";
  const std::optional<std::int32_t> id = given.has_value() ? given : tokenizers_own;
  if (!id)
    throw InputError(field + ": there is no such token, but add_" + name + " = true",
                     {.hint = std::string("set ") + name + "_id, or add_" + name + " = false"});
  if (vocabulary_size > 0 && *id >= vocabulary_size)
    throw InputError(field + ": is " + std::to_string(*id) + ", but ids end at " +
                     std::to_string(vocabulary_size - 1));
  return id;
}

DocumentMarks marks_of(const SequenceConfig& config, const Tokenizer* tokenizer,
                       std::int64_t vocabulary_size, const std::string& input) {
  const auto bos = tokenizer != nullptr ? tokenizer->bos_id() : std::nullopt;
  const auto eos = tokenizer != nullptr ? tokenizer->eos_id() : std::nullopt;
  return {mark("bos", config.add_bos, config.bos_id, bos, vocabulary_size, input),
          mark("eos", config.add_eos, config.eos_id, eos, vocabulary_size, input)};
}

std::int64_t checked_vocabulary(const Tokenizer& tokenizer, const std::string& input) {
  const std::int64_t size = tokenizer.vocabulary_size();
  if (size < 1) throw InputError(input + ".tokenizer: has a vocabulary of " + std::to_string(size));
  return size;
}

void check_size(const DataSource& source, std::uint64_t limit) {
  if (source.bytes() <= limit) return;
  throw InputError(source.name() + ": has " + std::to_string(source.bytes()) +
                       " bytes, more than limit = " + std::to_string(limit),
                   {.hint = "raise limit if there is the memory, or make token files with "
                            "'trivet data prepare' for data/Tokens"});
}

std::string saved_text(const Value& state, std::string_view key) {
  const Value* value = state.find(key);
  return value != nullptr && value->is_text() ? value->as_text() : std::string();
}

}  // namespace

struct SequenceInput::Loaded {
  SequenceRows rows;
  ExampleOrder order;
  std::string fingerprint;
};

// Shared, because get() of it throws the same error as often as it is asked.
struct SequenceInput::Loading {
  std::shared_future<std::shared_ptr<Loaded>> done;
};

SequenceInput::SequenceInput(const SequenceConfig& config, const InputContext& context,
                             std::string data, std::shared_ptr<const Tokenizer> tokenizer,
                             std::int64_t vocabulary_size, Load load, InputsRule inputs)
    : name_(context.name),
      tokenizer_(std::move(tokenizer)),
      vocabulary_size_(vocabulary_size),
      loading_(std::make_unique<Loading>()) {
  const DocumentMarks marks = marks_of(config, tokenizer_.get(), vocabulary_size, name_);
  const RowLayout::Rules rules{config.seq_len, config.pack,
                               config.long_documents == LongDocuments::trim};
  const auto when = context.training ? std::launch::async : std::launch::deferred;
  auto body = [=, training = context.training, from = tokenizer_,
               shared = static_cast<InputConfig>(config)] {
    std::unique_ptr<TokenStore> tokens = load();
    std::string fingerprint = tokens->fingerprint();
    SequenceRows rows(std::move(tokens), marks, rules,
                      from ? bytes_of_ids(*from) : std::vector<std::int32_t>(), inputs);
    if (rows.rows() == 0)
      throw InputError(data + ": there is no text in it that makes a row",
                       {.hint = "a document needs a token to predict and one before it"});
    ExampleOrder order(shared, training, rows.rows(), data);
    return std::make_shared<Loaded>(
        Loaded{std::move(rows), std::move(order), std::move(fingerprint)});
  };
  loading_->done = std::async(when, std::move(body)).share();
}

SequenceInput::~SequenceInput() = default;

SequenceInput::Loaded& SequenceInput::loaded() const {
  return *loading_->done.get();
}

std::optional<Batch> SequenceInput::get_next() {
  Loaded& data = loaded();
  if (!data.order.next(slots_)) return std::nullopt;
  rows_.clear();
  for (const ExampleOrder::Slot& slot : slots_) rows_.push_back({slot.example, slot.real});
  Batch batch = data.rows.batch(rows_);
  batch.set("weight", data.order.weights(slots_));
  return batch;
}

void SequenceInput::reset() {
  loaded().order.reset();
}

Value SequenceInput::save_state() const {
  Value state = loaded().order.save_state();
  state.set("positions", loaded().rows.positions());
  state.set("tokens", loaded().fingerprint);
  return state;
}

void SequenceInput::restore_state(const Value& state) {
  Loaded& data = loaded();
  const std::string fingerprint = saved_text(state, "tokens");
  if (fingerprint != data.fingerprint)
    throw InputError(name_ + ": the state was saved with other text, or another tokenizer",
                     {.hint = "continue with the same data, or start a new run"});
  data.order.restore_state(state, name_);
}

std::optional<std::int64_t> SequenceInput::batches_per_epoch() const {
  return loaded().order.batches_per_epoch();
}

const void* SequenceInput::extension(std::string_view id) const noexcept {
  if (id == kInputText) return static_cast<const TextInput*>(this);
  return Input::extension(id);
}

const Tokenizer* SequenceInput::tokenizer(Side) const {
  return tokenizer_.get();
}

std::int64_t SequenceInput::vocabulary_size(Side) const {
  return vocabulary_size_;
}

TextSequenceInput::TextSequenceInput(const TextSequenceConfig& config, const InputContext& context,
                                     const TextPipeline& pipeline, bool weights_on_targets_only)
    : SequenceInput(config, context, pipeline.source->name(), pipeline.tokenizer,
                    checked_vocabulary(*pipeline.tokenizer, context.name),
                    [pipeline, limit = static_cast<std::uint64_t>(config.limit)] {
                      check_size(*pipeline.source, limit);
                      return std::unique_ptr<TokenStore>(tokenise(pipeline));
                    },
                    {.indicate = !pipeline.inputs.empty(),
                     .weights_on_targets_only = weights_on_targets_only}),
      pipeline_(pipeline) {}

const void* TextSequenceInput::extension(std::string_view id) const noexcept {
  if (id == kInputPreparation) return static_cast<const PreparableInput*>(this);
  return SequenceInput::extension(id);
}

PreparedData TextSequenceInput::prepare(const std::filesystem::path& directory,
                                        std::uint64_t shard_bytes) const {
  return prepare_tokens(pipeline_, directory, shard_bytes);
}

}  // namespace trivet::data

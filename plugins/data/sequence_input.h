// SPDX-License-Identifier: Apache-2.0
// The input that makes batches of sequence_config.h of any documents.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sequence_config.h"
#include "sequence_rows.h"
#include "tokenize.h"
#include "trivet/example_order.h"
#include "trivet/extensions/preparation.h"
#include "trivet/extensions/text.h"
#include "trivet/input.h"

namespace trivet::data {

// In training a thread that starts at once reads and tokenises, so that the data is there when the
// model is; in evaluation the first call that needs it does.
class SequenceInput : public Input, public TextInput {
 public:
  ~SequenceInput() override;
  std::optional<Batch> get_next() override;
  void reset() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  std::optional<std::int64_t> batches_per_epoch() const override;
  const void* extension(std::string_view id) const noexcept override;

  const Tokenizer* tokenizer(Side side) const override;
  std::int64_t vocabulary_size(Side side) const override;

 protected:
  // Brings all documents; called once, from any thread. Throws InputError.
  using Load = std::function<std::unique_ptr<TokenStore>()>;
  // `data` names what is read, for messages. `tokenizer` may be null; `vocabulary_size` then bounds
  // the ids, 0 where it is not known.
  SequenceInput(const SequenceConfig& config, const InputContext& context, std::string data,
                std::shared_ptr<const Tokenizer> tokenizer, std::int64_t vocabulary_size, Load load,
                InputsRule inputs = {});

 private:
  struct Loaded;
  struct Loading;
  Loaded& loaded() const;

  std::string name_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::int64_t vocabulary_size_;
  std::unique_ptr<Loading> loading_;
  std::vector<ExampleOrder::Slot> slots_;
  std::vector<SequenceRows::Row> rows_;
};

// Of text that is tokenised when the run starts.
class TextSequenceInput : public SequenceInput, public PreparableInput {
 public:
  const void* extension(std::string_view id) const noexcept override;
  PreparedData prepare(const std::filesystem::path& directory,
                       std::uint64_t shard_bytes) const override;

 protected:
  TextSequenceInput(const TextSequenceConfig& config, const InputContext& context,
                    const TextPipeline& pipeline, bool weights_on_targets_only = false);

 private:
  TextPipeline pipeline_;
};

}  // namespace trivet::data

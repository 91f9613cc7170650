// SPDX-License-Identifier: Apache-2.0
// RowsInput makes batches of any SequenceDataset.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/sequences/sequence_dataset.h"
#include "data/sources/given_lines.h"
#include "trivet/data/example_sampler.h"
#include "trivet/extensions/example_locations.h"
#include "trivet/extensions/text.h"
#include "trivet/input.h"

namespace trivet::data {

// The tokenizer and vocabulary of a batch's ids, see TextInput::Side.
struct TextSide {
  std::shared_ptr<const Tokenizer> tokenizer;  // may be null
  std::int64_t vocabulary_size = 0;            // 0: unknown
};
struct TextSides {
  TextSide only, source, target;
  const char* only_ids = "labels";  // the field whose text people see
  // Of the fields of `only`; "left/" is seen as the text "left".
  std::vector<std::string> only_prefixes = {""};
};

// Of inputs for encoders, which show their "ids".
inline TextSides encoder_sides(std::shared_ptr<const Tokenizer> tokenizer,
                               std::int64_t vocabulary_size,
                               std::vector<std::string> prefixes = {""}) {
  return {.only = {std::move(tokenizer), vocabulary_size},
          .source = {},
          .target = {},
          .only_ids = "ids",
          .only_prefixes = std::move(prefixes)};
}

// In training a thread starts to read and tokenize at once, while the model is built. In evaluation
// the first call that needs the data reads it.
class RowsInput : public Input, public TextInput, public ExampleLocations {
 public:
  ~RowsInput() override;
  std::optional<Batch> get_next() override;
  void reset() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  std::optional<std::int64_t> batches_per_epoch() const override;
  const void* extension(std::string_view id) const noexcept override;

  const Tokenizer* tokenizer(Side side) const override { return side_of(side).tokenizer.get(); }
  std::int64_t vocabulary_size(Side side) const override { return side_of(side).vocabulary_size; }
  std::vector<BatchText> texts() const override;
  std::vector<std::string> locations() const override;

 protected:
  // Makes the dataset. Called once, from any thread, so it must not use the input. Throws
  // InputError.
  using Load = std::function<std::unique_ptr<SequenceDataset>()>;
  // `data` names the data, for messages.
  RowsInput(const InputConfig& config, const InputContext& context, const std::string& data,
            TextSides sides, Load load);
  // For an input that can read examples: its dataset of these, with rows for each, without labels.
  // A batch has up to batch_size rows, so an example of several may be in several batches. If
  // `context` names examples, `load` is not called. Empty: the input cannot read any.
  using LoadExamples = std::function<std::unique_ptr<SequenceDataset>(DataSource& examples)>;
  RowsInput(const InputConfig& config, const InputContext& context, const std::string& data,
            TextSides sides, Load load, LoadExamples load_examples);

 private:
  bool take_examples();
  std::optional<Batch> next_examples();
  struct Loaded;
  struct Loading;
  Loaded& loaded() const;
  const TextSide& side_of(Side side) const;

  std::string name_;
  TextSides sides_;
  std::unique_ptr<Loading> loading_;
  std::vector<ExampleSampler::Sample> samples_;
  std::vector<SequenceDataset::Row> rows_;
  LoadExamples load_examples_;  // empty if the input cannot
  std::optional<GivenLines> given_;
  std::unique_ptr<SequenceDataset> given_rows_;  // of the examples that were taken last
  std::int64_t next_given_row_ = 0;
  std::vector<std::string> locations_;  // of each row of the last batch of given_
  std::int64_t batch_size_ = 0;
};

}  // namespace trivet::data

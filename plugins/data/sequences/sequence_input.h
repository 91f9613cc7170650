// SPDX-License-Identifier: Apache-2.0
// Inputs that make rows of documents as SequenceConfig describes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data/sequences/rows_input.h"
#include "data/sequences/sequence_config.h"
#include "data/sequences/sequence_rows.h"
#include "data/tokens/tokenize.h"
#include "trivet/extensions/preparation.h"
#include "trivet/input.h"

namespace trivet::data {

class SequenceInput : public RowsInput {
 protected:
  // Loads all documents. Called once, from any thread. Throws InputError.
  using LoadTokens = std::function<std::shared_ptr<const TokenStore>()>;
  // Loads examples that a user gives. Throws InputError.
  using LoadExampleTokens = std::function<std::shared_ptr<const TokenStore>(DataSource&)>;
  // Wraps the rows, for example with masking.
  using Wrap = std::function<std::unique_ptr<SequenceDataset>(std::unique_ptr<SequenceDataset>)>;
  // Makes the rows of documents, instead of a SequenceRows.
  using MakeRows = std::function<std::unique_ptr<SequenceDataset>(SequenceRules)>;
  struct Options {
    bool shifted = true;
    bool indicate_inputs = false;
    bool add_task_ids = false;
    bool weights_on_targets_only = false;
    MakeRows make_rows = {};
    std::vector<std::string> features = {};  // texts to pass through
    Wrap wrap = {};
    Wrap wrap_examples = {};  // the rows of examples that a user gives, one for each
  };
  // `data` names the data, for messages.
  SequenceInput(const SequenceConfig& config, const InputContext& context, const std::string& data,
                const TextSide& side, const LoadTokens& load, const Options& options,
                const LoadExampleTokens& load_examples = {});

 private:
  struct RowMaker;
  SequenceInput(const SequenceConfig& config, const InputContext& context, const std::string& data,
                const TextSide& side, const LoadTokens& load, const Options& options,
                const LoadExampleTokens& load_examples, const RowMaker& maker);
};

// Text that is tokenized when the run starts.
class TextSequenceInput : public SequenceInput, public PreparableInput {
 public:
  const void* extension(std::string_view id) const noexcept override;
  PreparedData prepare(const std::filesystem::path& directory,
                       std::uint64_t shard_bytes) const override;

 protected:
  // `example_mask` as TextPipeline::mask_id, for examples that a user gives.
  TextSequenceInput(const TextSequenceConfig& config, const InputContext& context,
                    const TextPipeline& pipeline, const Options& options,
                    std::optional<std::int32_t> example_mask = {});

 private:
  TextPipeline pipeline_;
};

}  // namespace trivet::data

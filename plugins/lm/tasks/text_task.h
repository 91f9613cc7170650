// SPDX-License-Identifier: Apache-2.0
// The base of tasks over text. Its tokenizer serves inputs without one and models whose vocab_size
// is 0. The loss is the mean cross entropy that the model returns. The run stores its tokenizer in
// its directory and cannot continue with another (stored_tokenizer.h).
//
// On a meta device (trivet/tensor/meta_device.h) no input is opened whose config says batch_size
// and seq_len, and no tokenizer where the model's vocab_size is set, too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lm/tasks/loss_terms.h"
#include "lm/tasks/meta_input.h"
#include "trivet/extensions/expected_initial_loss.h"
#include "trivet/extensions/text.h"
#include "trivet/extensions/token_count.h"
#include "trivet/task.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

struct TextTaskConfig : TaskConfig {
  ConfigOf<Tokenizer> tokenizer;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    TextTaskConfig, trivet::TaskConfig,
    (tokenizer,
     "Tokenizer of the texts. none: inputs give token ids, and the task writes no texts."))

// Tasks whose models compute the losses.
struct TokenTaskConfig : TextTaskConfig {
  std::vector<LossTerm> losses;
};
TRIVET_CONFIG(TokenTaskConfig, TextTaskConfig,
              (losses,
               "Scalars of the model's outputs whose sum is minimized; none: its avg_xent alone.",
               adjustable))

class TextTask : public Task, public ExpectedInitialLoss, public TokenCount {
 public:
  // Throws ConfigError if the model has fewer tokens than the tokenizer.
  std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope) override;
  // Throws ConfigError if the embeddings of init_checkpoint belong to another tokenizer.
  void initialize(ParameterStore& store) override;
  // Throws ConfigError if an input has more tokens than the model.
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;
  // The terms of `losses` plus auxiliary losses, over "total_weight".
  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;
  // The loss of guessing a token by chance.
  Range expected_initial_loss() const override;
  // Counts all ids, a source's and a target's together.
  std::int64_t tokens(const Batch& batch) const override;

 protected:
  TextTask(const TextTaskConfig& config, TaskContext& context, std::vector<LossTerm> losses = {});
  TextTask(const TokenTaskConfig& config, TaskContext& context)
      : TextTask(config, context, config.losses) {}
  const std::vector<LossTerm>& loss_terms() const { return losses_; }
  // Returns `metrics` plus, for several losses, their means.
  Metrics with_losses(Metrics metrics) const;
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }  // may be null
  std::int64_t vocabulary_size() const { return vocabulary_size_; }  // of the model; 0: unknown
  // Throws ConfigError if what init_report() says was loaded has embeddings of another tokenizer.
  void check_loaded_embeddings() const;
  // Of the fields of a batch's rows. Here one without a name: "ids".
  virtual std::vector<std::string> row_prefixes() const { return {""}; }
  // What the loss needs of a batch beside the fields of its rows, such as "start_positions".
  virtual std::vector<MetaColumn> loss_columns() const { return {}; }
  // The tokenizer of the ids that the model predicts and vocab_size counts. Here tokenizer().
  virtual const Tokenizer* told_tokenizer() const { return tokenizer_.get(); }

 private:
  const ConfigOf<Tokenizer> tokenizer_config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<LossTerm> losses_;
  std::int64_t vocabulary_size_ = 0;
};

// Throws ConfigError, naming the input, if it has ids that the model lacks (0: unknown size).
void check_known_ids(const Input& input, TextInput::Side side, std::int64_t known,
                     const std::string& name);

}  // namespace trivet::lm

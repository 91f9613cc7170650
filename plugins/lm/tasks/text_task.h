// SPDX-License-Identifier: Apache-2.0
// What tasks over text have in common: a tokenizer, for the inputs that have none of their own and
// for models whose vocab_size is 0; and the mean cross entropy that the model gives. The run keeps
// its tokenizer in its directory, and goes on with no other (stored_tokenizer.h).
//
// On a meta device (trivet/tensor/meta_device.h) no input is opened whose config says batch_size
// and seq_len, and no tokenizer where the model's vocab_size is set, too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lm/tasks/loss_terms.h"
#include "trivet/extensions/expected_initial_loss.h"
#include "trivet/extensions/text.h"
#include "trivet/extensions/token_count.h"
#include "trivet/task.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

struct TextTaskConfig : TaskConfig {
  ConfigOf<Tokenizer> tokenizer;
};
TRIVET_CONFIG(
    TextTaskConfig, trivet::TaskConfig,
    (tokenizer,
     "Tokenizer of the texts. none: inputs give token ids, and the task writes no texts."))

// Tasks whose models give the losses.
struct TokenTaskConfig : TextTaskConfig {
  std::vector<LossTerm> losses;
};
TRIVET_CONFIG(TokenTaskConfig, TextTaskConfig,
              (losses,
               "Scalars of the model's outputs whose sum is minimized; none: its avg_xent alone.",
               adjustable))

class TextTask : public Task, public ExpectedInitialLoss, public TokenCount {
 public:
  // Throws ConfigError for a model with fewer tokens than the tokenizer.
  std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope) override;
  // Throws ConfigError where the embeddings of init_checkpoint are those of other tokens.
  void initialize(ParameterStore& store) override;
  // Throws ConfigError for an input with more tokens than the model.
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;
  // What `losses` says with the auxiliary losses, over "total_weight".
  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;
  // Chance among the tokens.
  Range expected_initial_loss() const override;
  // Of all ids, a source's and a target's together.
  std::int64_t tokens(const Batch& batch) const override;

 protected:
  TextTask(const TextTaskConfig& config, TaskContext& context, std::vector<LossTerm> losses = {});
  TextTask(const TokenTaskConfig& config, TaskContext& context)
      : TextTask(config, context, config.losses) {}
  // `metrics` and, where there are several losses, their means.
  Metrics with_losses(Metrics metrics) const;
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }  // may be null
  std::int64_t vocabulary_size() const { return vocabulary_size_; }  // of the model; 0: not known
  // Whose ids the model tells, and vocab_size counts. Here tokenizer().
  virtual const Tokenizer* told_tokenizer() const { return tokenizer_.get(); }

 private:
  const ConfigOf<Tokenizer> tokenizer_config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<LossTerm> losses_;
  std::int64_t vocabulary_size_ = 0;
};

// Throws ConfigError, naming the input, where it has ids that the model does not know; 0: it is not
// known what it knows.
void check_known_ids(const Input& input, TextInput::Side side, std::int64_t known,
                     const std::string& name);

}  // namespace trivet::lm

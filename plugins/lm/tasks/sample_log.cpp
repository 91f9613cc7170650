// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/sample_log.h"

#include <utility>

#include "trivet/config/enums.h"
#include "trivet/error.h"

namespace trivet::lm {
namespace {

// Holds the model under evaluation, which all parts of the data share.
struct Evaluated final : AggregatedLogs {
  Model* model = nullptr;

  Value save_state() const override { return Value::table({}); }
  void merge(const Value&) override {}
};

}  // namespace

bool is_first_set(const Task& task) {
  if (task.eval_set().empty()) return true;
  const TaskConfig& config = task.config();
  return !config.eval_input.has_value() && task.eval_set() == config.eval_inputs.front().name;
}

SampleLog::SampleLog(std::vector<std::string> prompts, const std::string& directory,
                     bool has_tokenizer)
    : prompts_(std::move(prompts)) {
  if (!prompts_.empty() && !directory.empty()) {
    file_ = std::make_unique<RunLog>(directory, "samples.jsonl", RunLog::Of::evaluation);
  }
  if (!has_tokenizer && !prompts_.empty()) {
    throw ConfigError(Diagnostic{.path = "task.sample_prompts",
                                 .what = "is set, but the task has no tokenizer",
                                 .hint = "for example tokenizer = \"tokenizers/Bytes\""});
  }
}

std::unique_ptr<AggregatedLogs> SampleLog::start(std::unique_ptr<AggregatedLogs> state) const {
  if (file_ == nullptr) return state;
  if (state == nullptr) state = std::make_unique<Evaluated>();
  static_cast<Evaluated&>(*state).model = evaluated_;
  return state;
}

void SampleLog::write(const AggregatedLogs& state, const TextGenerator& generator,
                      std::int64_t step) {
  Model& model = *static_cast<const Evaluated&>(state).model;
  const std::vector<GeneratedText> texts = generator.generate(model, prompts_, {}, {});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    file_->append(step, Value::table({{"prompt", prompts_[i]},
                                      {"text", texts[i].text},
                                      {"tokens", texts[i].tokens},
                                      {"log_probability", texts[i].log_probability},
                                      {"end", enum_name(texts[i].end)}}));
  }
}

}  // namespace trivet::lm

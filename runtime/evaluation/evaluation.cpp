// SPDX-License-Identifier: Apache-2.0
#include "evaluation/evaluation.h"

#include <filesystem>
#include <utility>

#include "step/batch_size.h"
#include "step/step_parts.h"
#include "trivet/error.h"
#include "trivet/extensions/passthrough.h"

namespace trivet {
namespace {

// The column of the texts that an input passes through.
constexpr std::string_view kFeatures = "features";

// The task's name for the set, while the set is evaluated.
class EvalSetScope {
 public:
  EvalSetScope(Task& task, const std::string& set) : task_(task) { task_.set_eval_set(set); }
  ~EvalSetScope() { task_.set_eval_set(""); }
  EvalSetScope(const EvalSetScope&) = delete;
  EvalSetScope& operator=(const EvalSetScope&) = delete;

 private:
  Task& task_;
};

// Null where the run keeps no files.
std::unique_ptr<ExampleOutputs> outputs_of(const EvalSet& set) {
  if (set.config == nullptr || set.task->logging_dir().empty()) return nullptr;
  if (set.config->program == EvalProgram::eval && !set.config->outputs) return nullptr;
  return std::make_unique<ExampleOutputs>(set.task->eval_set_dir(set.config->name));
}

}  // namespace

Evaluation::Evaluation(Task& whole, EvalSet set, const ConfigOf<Input>& input, ValidationData data,
                       const ProgramOptions& options)
    : whole_(whole),
      set_(std::move(set)),
      path_(set_.config != nullptr ? set_.path + ".input" : set_.path),
      config_(input),
      program_(make_program(*set_.task, set_.config, set_.path, options)),
      outputs_(outputs_of(set_)),
      data_(data) {
  input_ = build_input(*set_.task, config_, Phase::evaluation, path_);
}

Evaluation::~Evaluation() = default;

void Evaluation::restore_state(const Value& state) {
  input_->restore_state(state);
  used_ = true;
}

// If evaluations continue, the start of the data follows its end.
std::optional<Batch> Evaluation::next(bool continues) {
  std::optional<Batch> batch = next_batch(*input_, config_);
  if (batch || !continues) return batch;
  input_->reset();
  return next_batch(*input_, config_);
}

// Hosts divide the rows of each global batch between them (data/example_sampler.h).
std::int64_t Evaluation::first_example(const Batch& batch, std::int64_t done) const {
  const Value& fields = config_.fields();
  const std::int64_t hosts = fields.integer_or("num_infeed_hosts", 1);
  const std::int64_t host = fields.integer_or("infeed_host_index", 0);
  return (done * hosts + host) * size_of(batch).rows;
}

Logs Evaluation::run(Model& model, ParameterStore& store, const FpropContext& context,
                     std::int64_t steps, TrainerObserver& observer) {
  const EvalSetScope scope(*set_.task, set_.config != nullptr ? set_.config->name : "");
  Model& own_model = model_of(set_, whole_, model);
  // All batches have nothing to continue with.
  const bool continues = data_ == ValidationData::continue_ && steps >= 0;
  if (used_ && !continues) input_->reset();
  used_ = true;
  program_->begin();
  if (outputs_) outputs_->begin(context.step);
  const Batch* current = nullptr;
  std::int64_t first = 0;
  const TakeOutput take_output =
      !outputs_ ? TakeOutput() : [&](std::int64_t example, Value columns) {
        Value texts = passthrough_of(*current, example - first);
        if (!texts.is_null()) columns.set(kFeatures, std::move(texts));
        outputs_->add(example, columns);
      };
  Device& device = store.device();
  Summaries summaries;
  std::int64_t done = 0;
  while (steps < 0 || done < steps) {
    if (observer.stop_requested()) return {};
    const auto batch = next(continues);
    if (!batch) break;
    device.begin_step();
    in_step("evaluation", done + 1, [&] {
      FpropContext own = context;
      if (done > 0) own.summaries = {};
      current = &*batch;
      first = first_example(*batch, done);
      program_->add(*batch, {own_model, store, own, first, take_output});
      if (done == 0) summaries = std::move(own.summaries);
    });
    device.end_step();
    observer.on_eval_step(++done, size_of(*batch).examples);
  }
  if (done == 0) throw InputError("the evaluation data has no batch", {.path = path_});
  if (summaries.wanted()) {
    observer.on_summaries(set_.name.empty() ? "eval" : "eval/" + set_.name, context.step,
                          summaries);
  }
  // Before the first process makes the numbers, where it may fail alone.
  store.check_reads();
  Logs logs = program_->result(context.step);
  if (outputs_) outputs_->commit();
  return logs;
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// trivet predict: what the model of a run says of examples that the user gives.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/terminal.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "cli/prediction_text.h"
#include "cli/trained_run.h"
#include "config/config_arguments.h"
#include "evaluation/decoded_examples.h"
#include "step/config_faults.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/extensions/batch_decoder.h"
#include "trivet/extensions/example_locations.h"
#include "trivet/extensions/passthrough.h"
#include "trivet/extensions/predictor.h"
#include "trivet/extensions/subtasks.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"
#include "trivet/tape.h"

namespace trivet {
namespace {

constexpr OptionSpec kPredictOptions[] = {
    {.name = "input",
     .letter = 'i',
     .value = "FILE",
     .doc = "The examples, in the form of the run's data; -: standard input"},
    {.name = "task", .value = "NAME", .doc = "The task of several that predicts (multitask)"},
    {.name = "like",
     .value = "PATH",
     .doc = "The input of the config that reads the examples (task.eval_input)"},
    {.name = "batch",
     .value = "N",
     .doc = "Examples at a time (the input's batch_size); changes rounding alone"},
    {.name = "csv", .doc = "Print a table instead of a line of JSON for each example"},
    {.name = "set",
     .value = "K=V",
     .doc = "Change the run's config, e.g. runtime.threads=1",
     .repeatable = true},
    kPluginDirOption,
};

// The first input that the config has, of those that evaluate; else that of training.
std::string usual_input(const Subtasks::Entry& chosen) {
  const TaskConfig& task = chosen.task->config();
  const char* const input = task.eval_input.has_value() ? "eval_input"
                            : task.eval_inputs.empty()  ? "train_input"
                                                        : "eval_inputs[0].input";
  return chosen.path + "." + input;
}

std::string names_of(const std::vector<Subtasks::Entry>& tasks) {
  std::string names;
  for (const Subtasks::Entry& task : tasks) names += (names.empty() ? "" : ", ") + task.name;
  return names;
}

// The run's task, or the one of its tasks that --task names, "a/b" for b in a.
Subtasks::Entry chosen_task(Task& whole, Model& model, const std::string* name) {
  Subtasks::Entry chosen{.name = {}, .path = "task", .task = &whole, .model = &model};
  std::string_view left = name != nullptr ? *name : std::string_view();
  while (true) {
    const auto* several = static_cast<const Subtasks*>(chosen.task->extension(kTaskSubtasks));
    if (several == nullptr && left.empty()) return chosen;
    if (several == nullptr) {
      throw UsageError(fmt::format("--task {}: {} is one task", *name, chosen.path),
                       {.hint = "remove --task, or its part that has no task"});
    }
    const std::vector<Subtasks::Entry> tasks =
        in_plugin(item_of(*chosen.task), "subtasks", chosen.path,
                  [&] { return several->subtasks(chosen.model); });
    const std::string_view wanted = left.substr(0, left.find('/'));
    const auto found = std::ranges::find(tasks, wanted, &Subtasks::Entry::name);
    if (found == tasks.end()) {
      throw UsageError(name == nullptr || wanted.empty()
                           ? chosen.path + " has several tasks: " + names_of(tasks)
                           : fmt::format("--task {}: {} has no such task; it has {}", *name,
                                         chosen.path, names_of(tasks)),
                       {.hint = "name one with --task"});
    }
    left.remove_prefix(std::min(left.size(), wanted.size() + 1));
    chosen = {found->name, chosen.path + "." + found->path, found->task, found->model};
  }
}

std::int64_t batch_size_of(const std::string& text) {
  std::int64_t size = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, size);
  if (error == std::errc() && stop == end && size >= 1) return size;
  throw UsageError("--batch takes a number of at least 1, not '" + text + "'");
}

// Wrong examples are the user's, not the run's.
template <class Body>
decltype(auto) of_examples(Body&& body) {
  try {
    return body();
  } catch (const InputError& wrong) {
    if (is_of_machine(wrong)) throw;
    throw UsageError(wrong.message(), wrong.details());
  }
}

class PredictCommand {
 public:
  PredictCommand(const Arguments& arguments, ResolvedConfig config, const RunCheckpoint& location)
      : config_(std::move(config)), trained_(config_, location) {
    chosen_ = chosen_task(trained_.task(), trained_.model(), arguments.last("task"));
    predictor_ = static_cast<const Predictor*>(chosen_.task->extension(kTaskPredictor));
    decoder_ = static_cast<const BatchDecoder*>(chosen_.task->extension(kTaskBatchDecoder));
    if (predictor_ == nullptr && decoder_ == nullptr) {
      const RegistryItem* const item = item_of(*chosen_.task);
      throw UsageError(fmt::format("the task {} of the run gives no predictions of single examples",
                                   item != nullptr ? item->key : chosen_.task->name()),
                       {.hint = "the task is set in " + location.config.string()});
    }
    open_input(arguments);
  }

  int run(PredictionText text) {
    const NoGrad no_grad;
    std::int64_t example = 0;
    while (const std::optional<Batch> batch = next()) {
      const std::vector<std::string> locations = reader_->locations();
      std::vector<Value> rows = predict(*batch, example);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].is_null()) continue;
        Value texts = passthrough_of(*batch, static_cast<std::int64_t>(i));
        if (!texts.is_null()) rows[i].set("features", std::move(texts));
        print_out(text.line(example, i < locations.size() ? locations[i] : "", rows[i]));
        ++example;
      }
      flush_out();
    }
    return 0;
  }

 private:
  void open_input(const Arguments& arguments) {
    const std::string* given = arguments.last("like");
    path_ = given != nullptr ? *given : usual_input(chosen_);
    const Value* value = config_.tree.find_path(path_);
    if (value == nullptr || !value->is_table()) {
      throw UsageError("--like " + path_ + ": the config has no input at this path",
                       {.hint = "task.eval_input and task.train_input are inputs"});
    }
    Value fields = *value;
    if (const std::string* batch = arguments.last("batch")) {
      fields.set("batch_size", batch_size_of(*batch));
    }
    const ConfigOf<Input> config(ConfigValue::from_value(fields, Input::kKind, path_));
    InputContext context{
        .phase = Phase::evaluation, .name = path_, .examples = *arguments.last("input")};
    of_examples([&] {
      build_from_config(path_, config.origin(),
                        [&] { input_ = chosen_.task->build_inputs(config, context); });
    });
    reader_ = static_cast<const ExampleLocations*>(input_->extension(kInputExamples));
    if (reader_ != nullptr) return;
    throw UsageError(fmt::format("the input {} at {} cannot read examples that it is given",
                                 config.key(), path_),
                     {.hint = "--like names another input of the run's config"});
  }

  std::optional<Batch> next() {
    return of_examples([&] {
      return in_plugin(item_of(*input_), "get_next", path_, [&] { return input_->get_next(); });
    });
  }

  std::vector<Value> predict(const Batch& batch, std::int64_t first_example) {
    Device& device = trained_.device();
    device.begin_step();
    const Batch own = batch.to(device);
    std::vector<Value> rows =
        predictor_ != nullptr ? predictions(own) : decoded(own, first_example);
    device.end_step();
    return rows;
  }

  std::vector<Value> predictions(const Batch& batch) {
    Task& task = *chosen_.task;
    FpropContext context;
    context.step = trained_.step();
    return in_plugin(item_of(task), "predictions", chosen_.path, [&] {
      return predictor_->predictions(batch, task.inference_step(batch, *chosen_.model, context));
    });
  }

  // What a model that writes texts writes, as a set with the program "decode" does.
  std::vector<Value> decoded(const Batch& batch, std::int64_t first_example) {
    const BatchDecodeOptions options{
        .seed = decode_seed(RngKey(static_cast<std::uint64_t>(config_.experiment.seed))),
        .first_example = static_cast<std::uint64_t>(first_example)};
    std::vector<Value> rows;
    for (const auto& example :
         decoded_examples(*chosen_.task, *decoder_, batch, *chosen_.model, options)) {
      rows.push_back(example ? columns_of(*example) : Value());
    }
    return rows;
  }

  ResolvedConfig config_;
  TrainedModel trained_;
  Subtasks::Entry chosen_;
  const Predictor* predictor_ = nullptr;   // of the chosen task; may be null if
  const BatchDecoder* decoder_ = nullptr;  // it writes texts
  std::string path_;                       // of the input in the config
  std::unique_ptr<Input> input_;
  const ExampleLocations* reader_ = nullptr;
};

int run_predict(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kPredictOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() != 1) {
    throw UsageError("'trivet predict' takes one run",
                     {.hint = "trivet predict runs/1-weather --input rows.csv"});
  }
  if (arguments.last("input") == nullptr) {
    throw UsageError(
        "'trivet predict' needs examples: --input FILE, or --input - for standard "
        "input");
  }
  const RunCheckpoint location = find_run_checkpoint(run_named(plain[0]));
  HostCatalog catalog(arguments.all("plugin-dir"), UnknownDefaults::load_plugin);
  const FlushDenormals flush;
  PredictCommand command(arguments, trained_config(location, arguments.all("set"), catalog),
                         location);
  return command.run(arguments.has("csv") ? PredictionText::csv() : PredictionText::json_lines());
}

}  // namespace

extern const CommandInfo kPredictCommand{
    .name = "predict",
    .usage = "predict RUN --input FILE",
    .summary = "Predicts examples with the model of a run",
    .details =
        "  trivet predict runs/1-weather --input rows.csv    a line of JSON for each row\n"
        "  tail -f rows.csv | trivet predict RUN --input -   as the rows come\n"
        "  trivet predict RUN --input images.gz --csv        a table\n"
        "\n"
        "RUN is the directory of a run (its newest checkpoint), a checkpoint, or a work unit as\n"
        "XID/WID. The examples have the form of the data of task.eval_input, labels left out or\n"
        "not: rows of a table with the same columns, a file of images, lines of JSON with the\n"
        "same features. The task gives the columns: the class with its probability, the number\n"
        "in the unit of the data, the tokens of masks, the log probability of a text, the text\n"
        "that is written for a source. The numbers are those of an evaluation of this checkpoint.\n"
        "A run of several tasks needs --task NAME.",
    .options = kPredictOptions,
    .operand = Operand::path,
    .run = run_predict,
};

}  // namespace trivet

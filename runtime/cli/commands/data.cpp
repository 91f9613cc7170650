// SPDX-License-Identifier: Apache-2.0
// trivet data show|prepare
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "cli/option_number.h"
#include "cli/view/batch_text.h"
#include "config/config_arguments.h"
#include "run/run_start.h"
#include "step/config_faults.h"
#include "trivet/config/json.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"
#include "trivet/extensions/preparation.h"
#include "trivet/extensions/text.h"
#include "trivet/input.h"
#include "trivet/task.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kOwnDataOptions[] = {
    {.name = "input",
     .value = "PATH",
     .doc = "Path of the input, e.g. task.eval_input (show: may be repeated; default: all)",
     .repeatable = true},
    {.name = "rows",
     .letter = 'n',
     .value = "N",
     .doc = "show: number of rows of each input (default 3)"},
    {.name = "output", .letter = 'o', .value = "DIR", .doc = "prepare: the folder to write to"},
    {.name = "shard-bytes",
     .value = "N",
     .doc = "prepare: approximate size of each file in bytes (default 256 MiB)"},
    {.name = "json", .doc = "As JSON"},
};
constexpr auto kDataOptions = with_config_options(kOwnDataOptions);

// The inputs of a config, without those nested in other inputs.
void find_inputs(const Value& value, const std::string& path, HostCatalog& catalog,
                 std::vector<std::string>& found) {
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      find_inputs(value.items()[i], joined_path(path, i), catalog, found);
    }
  }
  if (!value.is_table()) return;
  const Value* type = value.find("type");
  if (type != nullptr && type->is_string()) {
    const std::vector<std::string> kinds = catalog.kinds_of(type->as_string());
    if (std::ranges::find(kinds, Input::kKind) != kinds.end()) {
      found.push_back(path);
      return;
    }
  }
  for (const auto& [name, member, origin] : value.members()) {
    find_inputs(member, joined_path(path, name), catalog, found);
  }
}

// The config and the objects that its inputs need. Each object is built on first use.
class ConfiguredInputs {
 public:
  explicit ConfiguredInputs(std::span<const std::string> words)
      : given_(parse_config_arguments(words, kDataOptions)),
        catalog_(given_.plugin_dirs, UnknownDefaults::load_plugin),
        config_(resolve_config(given_.request, catalog_)) {}

  const Arguments& arguments() const { return given_.arguments; }

  std::vector<std::string> paths() {
    std::vector<std::string> known;
    find_inputs(config_.tree, {}, catalog_, known);
    const std::vector<std::string> wanted = given_.arguments.all("input");
    for (const std::string& path : wanted) {
      const Value* value = config_.tree.find_path(path);
      if (value == nullptr || !value->is_table()) {
        throw UsageError("--input " + path + ": the config has no input at this path",
                         {.hint = suggestion(path, known)});
      }
    }
    if (wanted.empty() && known.empty()) throw UsageError(given_.source + " has no input");
    return wanted.empty() ? known : wanted;
  }

  // Calls `work`, which reads the input at this path. Wrong data is an error of the config, as in
  // a run.
  void with_input(const std::string& path, const std::function<void()>& work) {
    with_locations(config_.tree, [&] { build_from_config(path, at(path).origin(), work); });
  }

  struct Made {
    std::string type;
    std::unique_ptr<Input> input;
    ConfigOf<Input> config;
  };
  // As in a run: by the task, which may tell its inputs how to read.
  Made make(const std::string& path, Phase phase) {
    const ConfigOf<Input> config(ConfigValue::from_value(at(path), Input::kKind, path));
    InputContext context{.phase = phase, .name = path};
    const bool is_tasks = path == "task.train_input" || path == "task.eval_input" ||
                          (path.starts_with("task.eval_inputs[") && path.ends_with("].input"));
    return {std::string(config.key()),
            is_tasks ? task().build_inputs(config, context) : trivet::make(config, context),
            config};
  }

 private:
  const Value& at(const std::string& path) const {
    const Value* value = config_.tree.find_path(path);
    if (value == nullptr) throw UsageError(given_.source + " has no " + path);
    return *value;
  }

  Task& task() {
    if (!task_) {
      RunRequest request;
      request.config = config_;
      device_ = open_device(request);
      TaskContext context{*device_, {}};
      task_ = trivet::make(config_.experiment.task, context);
    }
    return *task_;
  }

  ConfigArguments given_;
  HostCatalog catalog_;
  ResolvedConfig config_;
  std::unique_ptr<Device> device_;  // outlives the task
  std::unique_ptr<Task> task_;
};

Phase phase_of(const std::string& path) {
  const std::vector<PathStep> steps = split_path(path);
  const bool training = !steps.empty() && steps.back().name == "train_input";
  return training ? Phase::training : Phase::evaluation;
}

Value describe_input(const ConfiguredInputs::Made& made, const std::string& path,
                     std::int64_t rows) {
  Value about = Value::table({{"path", path}, {"type", made.type}});
  if (const auto batches = made.input->batches_per_epoch()) {
    about.set("batches_per_epoch", *batches);
  }
  Value seen = Value::array();
  const TextInput* text = text_input(*made.input);
  while (static_cast<std::int64_t>(seen.items().size()) < rows) {
    const std::optional<Batch> batch = next_batch(*made.input, made.config);
    if (!batch) break;
    if (about.find("fields") == nullptr) about.set("fields", batch_fields(*batch));
    const auto left = rows - static_cast<std::int64_t>(seen.items().size());
    Value these = batch_rows(*batch, text, left);
    for (Value& row : these.items()) seen.push_back(std::move(row));
  }
  about.set("rows", std::move(seen));
  return about;
}

std::string text_of(const Value& about) {
  std::string text = about.find("path")->as_string() + "  " + about.find("type")->as_string();
  if (const Value* batches = about.find("batches_per_epoch")) {
    text += fmt::format("  {} batches a pass",
                        format_count(static_cast<std::uint64_t>(batches->as_integer())));
  }
  text += "\n";
  if (const Value* fields = about.find("fields")) {
    for (const Value& field : fields->items()) {
      text += fmt::format("  {:<14} {}\n", field.find("name")->as_string(),
                          field.find("shape")->as_string());
    }
  }
  std::size_t number = 0;
  for (const Value& row : about.find("rows")->items()) {
    text += fmt::format("row {}\n", ++number);
    for (const auto& [name, value, origin] : row.members()) {
      if (!value.is_array()) {
        text += fmt::format("  {:<14} {}\n", name, value.as_string());
        continue;
      }
      for (const Value& part : value.items()) {
        text += fmt::format("  {:<14} {}\n", name, to_json(part));
      }
    }
  }
  return printable(text);
}

int show(std::span<const std::string> words) {
  ConfiguredInputs inputs(words);
  const std::int64_t rows = option_number(inputs.arguments(), "rows", 1).value_or(3);
  Value all = Value::array();
  for (const std::string& path : inputs.paths()) {
    inputs.with_input(path, [&] {
      all.push_back(describe_input(inputs.make(path, phase_of(path)), path, rows));
    });
  }
  if (inputs.arguments().has("json")) {
    print_out(to_json(all, JsonStyle::indented));
    return 0;
  }
  std::string text;
  for (const Value& about : all.items()) text += (text.empty() ? "" : "\n") + text_of(about);
  print_out(text);
  return 0;
}

int prepare(std::span<const std::string> words) {
  ConfiguredInputs inputs(words);
  const std::string* output = inputs.arguments().last("output");
  if (output == nullptr) throw UsageError("'trivet data prepare' needs -o DIR");
  const std::int64_t shard_bytes =
      option_number(inputs.arguments(), "shard-bytes", 1).value_or(std::int64_t{256} << 20);
  const std::vector<std::string> wanted = inputs.arguments().all("input");
  if (wanted.size() > 1) throw UsageError("'trivet data prepare' takes one --input a folder");
  const std::string path = wanted.empty() ? "task.train_input" : inputs.paths()[0];
  // Not as in training, where an input begins to read into memory at once.
  std::optional<ConfiguredInputs::Made> made;
  inputs.with_input(path, [&] { made.emplace(inputs.make(path, Phase::evaluation)); });
  const PreparableInput* preparable = preparable_input(*made->input);
  if (preparable == nullptr) {
    throw UsageError(path + ": " + made->type + " cannot be prepared",
                     {.hint = "text inputs such as data/Text can be prepared"});
  }
  std::error_code failed;
  fs::create_directories(*output, failed);
  if (failed) throw RunError("cannot create the folder " + *output + ": " + failed.message());
  PreparedData data;
  try {
    data = preparable->prepare(*output, static_cast<std::uint64_t>(shard_bytes));
  } catch (const InputError&) {
    // Unlike the errors of the files that are written.
    inputs.with_input(path, [] { throw; });
  }
  if (inputs.arguments().has("json")) {
    Value files = Value::array();
    for (const fs::path& file : data.files) files.push_back(file.string());
    print_out(to_json(
        Value::table({{"reused", data.reused}, {"files", std::move(files)}, {"input", data.input}}),
        JsonStyle::indented));
    return 0;
  }
  std::string text = fmt::format("{}: {}", *output, count_of(std::ssize(data.files), "file"));
  for (const std::string& fact : data.facts) text += ", " + fact;
  text += data.reused ? " (already exists)\n" : "\n";
  print_out(printable(text + "input = " + to_toml(data.input) + "\n"));
  return 0;
}

int run_data(std::span<const std::string> words) {
  if (words.empty() || words[0].starts_with('-')) {
    throw UsageError("'trivet data' takes show or prepare first");
  }
  if (words[0] == "show") return show(words.subspan(1));
  if (words[0] == "prepare") return prepare(words.subspan(1));
  throw UsageError("'trivet data' has no action '" + words[0] + "'",
                   {.hint = suggestion(words[0], {"show", "prepare"})});
}

}  // namespace

extern const CommandInfo kDataCommand{
    .name = "data",
    .usage = "data show|prepare CONFIG [K=V ...]",
    .summary =
        "Shows the rows of a config's inputs, or writes the rows in a form that loads faster",
    .details =
        "show     prints the first rows of each input and the shapes of its batches. With a\n"
        "         tokenizer rows are printed as text, one line per segment, with their labels\n"
        "         and tags; without one as numbers.\n"
        "prepare  writes the data of task.train_input (or --input PATH) into -o DIR in a form\n"
        "         that reads faster, for text as token files, and prints the config that reads\n"
        "         it. Keeps files in DIR that hold the same data already.",
    .options = kDataOptions,
    .operand = Operand::config,
    .run = run_data,
};

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "tabular_task.h"

#include <algorithm>
#include <utility>

#include "fingerprint.h"
#include "table_encoder.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace trivet::tabular {
namespace {

namespace fs = std::filesystem;

TableInput& table_in(Input& input, const ConfigOf<Input>& config, const std::string& name) {
  if (TableInput* table = table_of(input)) return *table;
  throw ConfigError(Diagnostic{.where = config.origin(),
                               .path = name,
                               .what = std::string(config.key()) + " has no rows and columns",
                               .hint = "tasks for tables need an input such as data/Csv"});
}

std::string other_type(const Encoding& encoding) {
  return encoding.classes.empty() ? "a regression's" : "a classification's";
}

}  // namespace

void TabularConfig::validate(Diagnostics& diagnostics) const {
  const auto has = [](const std::vector<std::string>& columns, const std::string& column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  if (!features.empty() && !ignore.empty()) {
    diagnostics.add("ignore", "has no effect if features is set", "set one of the two");
  }
  if (has(features, label)) diagnostics.add("features", "contains the label '" + label + "'");
  if (has(ignore, label)) diagnostics.add("ignore", "contains the label '" + label + "'");
  for (const std::string& column : categorical) {
    if (has(numeric, column)) {
      diagnostics.add("categorical", "column '" + column + "' is also in numeric");
    }
  }
}

TabularTask::TabularTask(const TabularConfig& config, Target target, TaskContext& context)
    : Task(config, context), tabular_(config), target_(target) {}

const Encoding& TabularTask::encoding() {
  if (!encoding_) encoding_ = found_encoding();
  return *encoding_;
}

fs::path TabularTask::own_file() const {
  return logging_dir().empty() ? fs::path() : fs::path(logging_dir()) / kEncodingFile;
}

fs::path TabularTask::followed_file() const {
  return followed_dir().empty() ? fs::path() : fs::path(followed_dir()) / kEncodingFile;
}

std::shared_ptr<const Encoding> TabularTask::found_encoding() {
  std::error_code ignored;
  for (const fs::path& file : {followed_file(), own_file()}) {
    if (!file.empty() && fs::exists(file, ignored)) return loaded(file);
  }
  if (!tabular_.encoding.empty()) {
    const fs::path given = tabular_.encoding.text;
    // Drops the fingerprint: its training rows are another run's.
    Encoding encoding = *loaded(fs::is_directory(given, ignored) ? given / kEncodingFile : given);
    encoding.training.reset();
    keep(std::make_shared<const Encoding>(std::move(encoding)));
    return encoding_;
  }
  InputContext context{.phase = Phase::training, .name = "task.train_input"};
  fitted_ = Task::build_inputs(config().train_input, context);
  TableInput& table = table_in(*fitted_, config().train_input, context.name);
  try {
    keep(std::make_shared<const Encoding>(fit(tabular_, target_, table)));
  } catch (Error& error) {  // else the trainer reports it, which asks for the model
    error.amend({.path = "task", .plugin = "tabular"});
    throw;
  }
  return encoding_;
}

std::shared_ptr<const Encoding> TabularTask::loaded(const fs::path& file) const {
  auto encoding = std::make_shared<const Encoding>(load_encoding(file));
  const bool fits = encoding->classes.empty() == (target_ == Target::number);
  if (!fits || encoding->label != tabular_.label) {
    throw RunError(file.string() + " is " + other_type(*encoding) + " encoding, for the label " +
                       shown_cell(encoding->label),
                   {.hint = "use the encoding of a run with the same task and label"});
  }
  return encoding;
}

void TabularTask::keep(std::shared_ptr<const Encoding> encoding) {
  encoding_ = std::move(encoding);
  if (!own_file().empty()) save_encoding(*encoding_, own_file());
}

void TabularTask::check_training(TableInput& table) {
  const Fingerprint now = fingerprint_of(table);
  if (!encoding_->training) {
    Encoding encoding = *encoding_;
    encoding.training = now;
    return keep(std::make_shared<const Encoding>(std::move(encoding)));
  }
  const std::string what = changes(*encoding_->training, now);
  if (what.empty()) return;
  throw InputError(
      table.file() + ": the training rows differ from those that this run started with: " + what,
      {.hint = "restore the file, or start a new run"});
}

std::unique_ptr<Input> TabularTask::build_inputs(const ConfigOf<Input>& config,
                                                 InputContext& context) {
  encoding();
  const bool own_rows = context.phase == Phase::training && config == this->config().train_input;
  // Rows that were just looked at need not be read again, or compared with themselves.
  const bool looked_at = own_rows && fitted_ != nullptr;
  std::unique_ptr<Input> input =
      looked_at ? std::move(fitted_) : Task::build_inputs(config, context);
  fitted_.reset();  // a run that only evaluates needs no training rows
  TableInput& table = table_in(*input, config, context.name);
  if (own_rows && !looked_at) check_training(table);
  const auto label =
      context.examples.empty() ? TableEncoder::Label::encoded : TableEncoder::Label::ignored;
  table.set_encoder(std::make_shared<TableEncoder>(encoding_, table, label));
  return input;
}

std::unique_ptr<Model> TabularTask::build_model(const ConfigOf<Model>& config, Scope& scope) {
  if (!config.has_value()) return Task::build_model(config, scope);  // which reports it
  return make(sized(config), scope);
}

// Sets the sizes that the table determines in the model's config.
ConfigOf<Model> TabularTask::sized(const ConfigOf<Model>& model) {
  const Encoding& sizes = encoding();
  Value::Array categories;
  for (const std::int64_t size : sizes.category_sizes()) categories.emplace_back(size);
  Value fields = model.to_value();
  const auto set = [&](std::string_view field, const Value& size) {
    const Value* given = model.fields().find(field);
    const bool unset = given == nullptr || *given == Value(0) || *given == Value::array();
    if (!unset && !(*given == size)) {
      throw ConfigError(
          Diagnostic{.where = given->origin(),
                     .path = joined_path(model.path(), field),
                     .what = "is " + to_toml(*given) + ", but the table requires " + to_toml(size),
                     .hint = "remove it"});
    }
    fields.set(field, size);
  };
  set("number_features", sizes.number_features());
  set("category_sizes", Value(std::move(categories)));
  set("output_dims", output_dims());
  return ConfigOf<Model>(ConfigValue::from_value(fields, Model::kKind, model.path()));
}

}  // namespace trivet::tabular

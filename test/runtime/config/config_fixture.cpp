// SPDX-License-Identifier: Apache-2.0
#include "config_fixture.h"

#include <set>

#include "trivet/config.h"
#include "trivet/experiment.h"
#include "trivet/layer.h"
#include "trivet/model.h"
#include "trivet/optimizer.h"
#include "trivet/schedule.h"

namespace trivet::test {
namespace {

enum class Shape { round, square };
TRIVET_ENUM(Shape, round, square)

struct LinearConfig {
  std::int64_t dims = 0;
  bool has_bias = true;
  double dropout = 0.0;
  ConfigOf<Layer> activation;

  void validate(Diagnostics& diagnostics) const {
    if (!has_bias && dropout > 0) diagnostics.add("dropout", "needs a bias", "set has_bias");
  }
};
TRIVET_CONFIG(LinearConfig, trivet::NoBase, (dims, "Width.", required, at_least(1)),
              (has_bias, "Adds a bias."), (dropout, "Share of zeros.", at_least(0), less_than(1)),
              (activation, "Behind it."))

struct ReluConfig {
  double slope = 0.0;
};
TRIVET_CONFIG(ReluConfig, trivet::NoBase, (slope, "Below zero."))

struct ResidualConfig {
  ConfigOf<Layer> body;
};
TRIVET_CONFIG(ResidualConfig, trivet::NoBase, (body, "What is added."))

struct EndlessConfig {
  ConfigOf<Layer> left = "demo/Endless";
  ConfigOf<Layer> right = "demo/Endless";
};
TRIVET_CONFIG(EndlessConfig, trivet::NoBase, (left, "One."), (right, "Two."))

struct PartsConfig {
  std::string label = "none so far";
  std::vector<std::int64_t> sizes = {3, 5};

  void validate(Diagnostics& diagnostics) const {
    if (sizes.size() > 4) diagnostics.add("sizes", "are more than four");
  }
};
TRIVET_CONFIG(PartsConfig, trivet::NoBase, (label, "A text."), (sizes, "Numbers.", at_least(1)))

struct MlpConfig {
  std::vector<std::int64_t> hidden_dims = {128};
  ConfigOf<Layer> activation = "demo/Relu";
  double dropout = 0.0;
  Shape shape = Shape::round;
  Duration patience = 60;
  Path vocabulary;
  std::optional<std::int64_t> limit;
  Map<double> weights;
  PartsConfig parts;
  Value notes;
};
TRIVET_CONFIG(MlpConfig, trivet::NoBase, (hidden_dims, "Widths.", at_least(1)),
              (activation, "Between.", alias("nonlinearity")),
              (dropout, "Share of zeros.", at_least(0), less_than(1)), (shape, "Of it."),
              (patience, "Time."), (vocabulary, "A file."), (limit, "If any."),
              (weights, "By name."), (parts, "Nested."), (notes, "Anything."))

struct StackConfig {
  std::vector<ConfigOf<Layer>> layers;
};
TRIVET_CONFIG(StackConfig, trivet::NoBase, (layers, "In order."))

struct SgdConfig {
  double momentum = 0.9;
};
TRIVET_CONFIG(SgdConfig, trivet::NoBase, (momentum, "Of the mean.", at_least(0)))

struct ConstantConfig {
  double value = 0.1;
};
TRIVET_CONFIG(ConstantConfig, trivet::NoBase, (value, "Always."))

struct CosineConfig {
  double peak = 0.1;
  std::int64_t decay_steps = 0;
};
TRIVET_CONFIG(CosineConfig, trivet::NoBase, (peak, "Highest."), (decay_steps, "Length.", required))

struct DemoTaskConfig : TaskConfig {
  std::int64_t classes = 10;
};
TRIVET_CONFIG(DemoTaskConfig, trivet::TaskConfig, (classes, "How many."))

struct DemoTrainerConfig : TrainerConfig {
  std::int64_t rounds = 1;
};
TRIVET_CONFIG(DemoTrainerConfig, trivet::TrainerConfig, (rounds, "How often."))

}  // namespace

template <class C>
void DemoCatalog::add(const char* kind, const char* key) {
  items_[{kind, key}] = {schema_of<C>(), &trivet::check_rules<C>};
}

DemoCatalog::DemoCatalog() {
  add<DemoTaskConfig>("task", "demo/Task");
  add<MlpConfig>("model", "demo/Mlp");
  add<StackConfig>("model", "demo/Stack");
  add<ReluConfig>("layer", "demo/Relu");
  add<LinearConfig>("layer", "demo/Linear");
  add<ResidualConfig>("layer", "demo/Residual");
  add<ReluConfig>("layer", "demo/Refused");
  add<EndlessConfig>("layer", "demo/Endless");
  add<InputConfig>("input", "demo/Noise");
  add<SgdConfig>("optimizer", "demo/Sgd");
  add<ConstantConfig>("schedule", "demo/Constant");
  add<CosineConfig>("schedule", "demo/Cosine");
  add<TrainerConfig>("trainer", "trivet/Trainer");
  add<DemoTrainerConfig>("trainer", "demo/Trainer");
  items_[{"backend", "cpu/Highway"}] = {};
  items_[{"backend", "tiny/Backend"}] = {};
}

std::vector<std::string> DemoCatalog::keys(std::string_view kind) {
  std::vector<std::string> keys;
  for (const auto& [item, rest] : items_) {
    if (item.first == kind) keys.push_back(item.second);
  }
  return keys;
}

std::vector<std::string> DemoCatalog::kinds_of(std::string_view key) {
  std::set<std::string> kinds;
  for (const auto& [item, rest] : items_) {
    if (key.empty() || item.second == key) kinds.insert(item.first);
  }
  return {kinds.begin(), kinds.end()};
}

const Schema* DemoCatalog::find(std::string_view kind, std::string_view key, const Origin& where,
                                const std::string& path, Diagnostics& diagnostics) {
  const auto found = items_.find({std::string(kind), std::string(key)});
  if (found != items_.end()) return &found->second.schema;
  diagnostics.add({where, path, "there is no " + std::string(kind) + " '" + std::string(key) + "'",
                   suggestion(key, keys(kind))});
  return nullptr;
}

std::optional<ScalarShorthand> DemoCatalog::for_number(std::string_view kind) {
  if (kind != "schedule") return std::nullopt;
  return ScalarShorthand{"demo/Constant", "value"};
}

void DemoCatalog::check_rules(std::string_view kind, const ConfigValue& config,
                              Diagnostics& diagnostics) {
  if (config.key() == "demo/Refused") throw PluginError("demo/Refused cannot be used");
  const Item& item = items_.at({std::string(kind), std::string(config.key())});
  if (item.check != nullptr) item.check(config.fields(), config.path(), diagnostics);
}

ConfigCatalog::Experiment DemoCatalog::experiment(const std::string& key) {
  const auto file = experiment_files.find(key);
  if (file != experiment_files.end()) return {.file = file->second};
  if (key != "demo/small") {
    throw ConfigError(Diagnostic{{}, "experiment", "there is no experiment '" + key + "'", {}});
  }
  ExperimentConfig config;
  config.seed = 7;
  config.task = ConfigOf<Task>("demo/Task", Value::table({{"model", Value("demo/Mlp")}}));
  TrainerConfig trainer;
  trainer.train_steps = 300;
  config.trainer = ConfigOf<Trainer>("trivet/Trainer", encode(trainer));
  return {.config = encode(config), .restricted = true};
}

void DemoCatalog::check_experiment(const std::string& key, const Value& config,
                                   Diagnostics& diagnostics) {
  if (key == "demo/Refused") throw PluginError("demo/Refused cannot be used");
  if (key != "demo/small") {
    throw ConfigError(Diagnostic{{}, {}, "there is no experiment '" + key + "'", "try demo/small"});
  }
  const auto rule = [](const ExperimentConfig& whole, Diagnostics& found) {
    const Value* classes = whole.task.fields().find("classes");
    if (classes->as_integer() != 10) found.add("task.classes", "must be 10", "it is small");
  };
  trivet::check_rules<ExperimentConfig>(config, {}, diagnostics, rule);
}

ConfigRequest Configs::full_request(const std::vector<std::string>& given) const {
  ConfigRequest full = request;
  if (full.files.empty() && full.experiment.empty()) full.files.push_back(path("main.toml"));
  for (const std::string& text : given) full.overrides.push_back(make_override(text));
  return full;
}

ResolvedConfig Configs::resolve(const std::vector<std::string>& overrides) {
  return resolve_config(full_request(overrides), catalog_);
}

std::string Configs::diagnostics(const std::vector<std::string>& overrides) {
  try {
    resolve_config(full_request(overrides), catalog_);
    return "no problem";
  } catch (const ConfigError& error) {
    std::string text;
    for (const Diagnostic& problem : error.diagnostics()) text += to_string(problem) + "\n";
    return shorten(text);
  }
}

std::string Configs::shorten(std::string text) const {
  const std::string folder = dir_.path().string() + "/";
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
    text.erase(at, folder.size());
  }
  return text;
}

std::string Configs::origin(const ResolvedConfig& config, std::string_view path) const {
  const Value* value = config.tree.find_path(path);
  return value == nullptr ? "absent" : shorten(to_string(value->origin()));
}

std::string text_at(const Value& tree, std::string_view path) {
  const Value* value = tree.find_path(path);
  return value == nullptr ? "absent" : to_toml(*value);
}

const char* const kGoodConfig =
    "seed = 1\n"
    "[task]\n"
    "type = \"demo/Task\"\n"
    "[task.model]\n"
    "type = \"demo/Mlp\"\n"
    "hidden_dims = [64, 32]\n"
    "[task.train_input]\n"
    "type = \"demo/Noise\"\n"
    "batch_size = 16\n"
    "[trainer]\n"
    "train_steps = 100\n"
    "optimizer = \"demo/Sgd\"\n"
    "learning_rate = 0.5\n";

}  // namespace trivet::test

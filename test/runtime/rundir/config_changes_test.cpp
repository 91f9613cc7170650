// SPDX-License-Identifier: Apache-2.0
// The config changes with which a run can continue.
#include "rundir/config_changes.h"

#include <map>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "config/tree/defaults_filler.h"
#include "train/progressive_trainer.h"
#include "trivet/layer.h"

using namespace trivet;

namespace {

struct SubtaskConfig {
  std::int64_t steps = 0;
  double weight = 1;
  ConfigOf<Task> task;
};
TRIVET_CONFIG(SubtaskConfig, trivet::NoBase, (steps, "Of it."), (weight, "Of it.", adjustable),
              (task, "It."))

struct ClassificationConfig : TaskConfig {
  double label_smoothing = 0;
  std::vector<SubtaskConfig> tasks;
  ConfigOf<Layer> head;
};
TRIVET_CONFIG(ClassificationConfig, trivet::TaskConfig,
              (label_smoothing, "Says nothing of itself."), (tasks, "Together."),
              (head, "A layer of the task's own."))

struct MlpConfig : ModelConfig {
  std::vector<std::int64_t> hidden = {128};
  double dropout = 0;
  double new_field = 0;
  ConfigOf<Layer> block;
  ConfigOf<Layer> noise;
  std::vector<ConfigOf<Layer>> noises;
  std::vector<ConfigOf<Layer>> layers;
  Map<double> rates;
  Map<double> widths;
};
TRIVET_CONFIG(MlpConfig, trivet::ModelConfig, (hidden, "Widths."), (dropout, "Rate.", adjustable),
              (new_field, "Came later."), (block, "A layer with weights."),
              (noise, "A layer without.", adjustable), (noises, "Many.", adjustable),
              (layers, "Many with weights."), (rates, "By name.", adjustable), (widths, "By name."))

struct BlockConfig : LayerConfig {
  std::int64_t dims = 0;
  double dropout = 0;
  ConfigOf<Layer> inner;
};
TRIVET_CONFIG(BlockConfig, trivet::LayerConfig, (dims, "Width."), (dropout, "Rate.", adjustable),
              (inner, "A layer with weights."))

struct AdamConfig : OptimizerConfig {
  double beta_1 = 0.9;
  bool amsgrad = false;
};
TRIVET_CONFIG(AdamConfig, trivet::OptimizerConfig, (beta_1, "Decay.", adjustable),
              (amsgrad, "Another slot."))

struct SyntheticConfig : InputConfig {};
TRIVET_CONFIG(SyntheticConfig, trivet::InputConfig)

// The types of this test. No other plugin exists, and the types of "gone" are unusable.
class Schemas final : public SchemaLookup {
 public:
  const Schema* find(std::string_view kind, std::string_view key, const Origin&, const std::string&,
                     Diagnostics&) override {
    static const std::map<std::pair<std::string, std::string>, const Schema*> kItems = {
        {{"task", "vision/ImageClassification"}, &schema_of<ClassificationConfig>()},
        {{"model", "vision/Mlp"}, &schema_of<MlpConfig>()},
        {{"layer", "nn/Block"}, &schema_of<BlockConfig>()},
        {{"optimizer", "optim/Adam"}, &schema_of<AdamConfig>()},
        {{"input", "data/Synthetic"}, &schema_of<SyntheticConfig>()},
        {{"trainer", "trivet/Trainer"}, &schema_of<ProgressiveConfig>()},
    };
    if (key.starts_with("gone/")) throw PluginError("the plugin cannot be used: it is damaged");
    const auto found = kItems.find({std::string(kind), std::string(key)});
    return found != kItems.end() ? found->second : nullptr;
  }
  std::optional<ScalarShorthand> for_number(std::string_view) override { return std::nullopt; }
};

Value config() {
  Value value = Value::table();
  value.set_path("mode", "train");
  value.set_path("seed", 1);
  value.set_path("task.type", "vision/ImageClassification");
  value.set_path("task.name", "a");
  value.set_path("task.label_smoothing", 0.0);
  value.set_path("task.model.type", "vision/Mlp");
  value.set_path("task.model.hidden", Value::array({128}));
  value.set_path("task.train_input.type", "data/Synthetic");
  value.set_path("task.train_input.batch_size", 128);
  value.set_path("trainer.type", "trivet/Trainer");
  value.set_path("trainer.train_steps", 100);
  value.set_path("trainer.optimizer.type", "optim/Adam");
  value.set_path("trainer.optimizer.beta_1", 0.9);
  return value;
}

// "path: before -> after", with a leading "!" if it breaks the run, and the reason if given.
std::string compared(const Value& before, const Value& after) {
  Schemas schemas;
  std::string text;
  for (const ConfigChange& change : config_changes(before, after, schemas)) {
    text += (change.breaks ? "!" : "") + change.path + ": " + change.before + " -> " +
            change.after + (change.reason.empty() ? "" : " (" + change.reason + ")") + "\n";
  }
  return text;
}

std::string changed(std::string_view path, Value to) {
  Value after = config();
  after.set_path(path, std::move(to));
  return compared(config(), after);
}

// For a change from one value to another, or from none to one: 'x' breaks, '.' does not.
std::string breaks(std::string_view path, Value from, Value to, Value before = config()) {
  Value after = before;
  if (!from.is_null()) before.set_path(path, std::move(from));
  after.set_path(path, std::move(to));
  Schemas schemas;
  std::string text;
  for (const ConfigChange& change : config_changes(before, after, schemas)) {
    text += change.breaks ? 'x' : '.';
  }
  return text;
}

}  // namespace

TEST_CASE("equal configs have no changes") {
  CHECK(compared(config(), config()).empty());
  CHECK(changed("mode", "eval").empty());
  CHECK(changed("name", "other").empty());
  CHECK(changed("task.init_checkpoint", Value()).empty());  // null is how unset looks
}

TEST_CASE("defaults of new fields are not changes") {
  Value field(0.5);
  CHECK(changed("task.model.new_field", field) == "!task.model.new_field:  -> 0.5\n");
  field.set_origin({.note = kDefaultNote});
  CHECK(changed("task.model.new_field", field).empty());
  // A field that existed is compared as usual.
  Value other(0.25);
  other.set_origin({.note = kDefaultNote});
  CHECK(changed("task.label_smoothing", other) == "task.label_smoothing: 0.0 -> 0.25\n");
}

TEST_CASE("another task or model breaks a run, but other changes do not") {
  CHECK(changed("trainer.train_steps", 200) == "trainer.train_steps: 100 -> 200\n");
  CHECK(changed("task.train_input.batch_size", 64) == "task.train_input.batch_size: 128 -> 64\n");
  CHECK(changed("task.eval_input.type", "data/Idx") == "task.eval_input.type:  -> \"data/Idx\"\n");
  CHECK(changed("task.name", "b") == "task.name: \"a\" -> \"b\"\n");
  CHECK(changed("trainer.optimizer.beta_1", 0.8) == "trainer.optimizer.beta_1: 0.9 -> 0.8\n");
  CHECK(changed("seed", 2) == "seed: 1 -> 2\n");
  CHECK(changed("task.decode.k", 3) == "task.decode.k:  -> 3\n");
  CHECK(changed("task.model.hidden", Value::array({256})) ==
        "!task.model.hidden: [128] -> [256]\n");
  CHECK(changed("task.model.dropout", 0.1) == "task.model.dropout:  -> 0.1\n");
  CHECK(changed("task.type", "lm/Causal") ==
        "!task.type: \"vision/ImageClassification\" -> \"lm/Causal\"\n");
  // No field of a task is known to affect weights: restoring finds weights that do not fit.
  CHECK(changed("task.label_smoothing", 0.1) == "task.label_smoothing: 0.0 -> 0.1\n");
  CHECK(changed("task.print_every", 5) == "task.print_every:  -> 5\n");
  CHECK(changed("trainer.optimizer.type", "optim/Sgd") ==
        "!trainer.optimizer.type: \"optim/Adam\" -> \"optim/Sgd\"\n");
}

TEST_CASE("a value that became a table is one change, including its fields") {
  const Value before = Value::table({{"a", 1}});
  const Value after = Value::table({{"a", Value::table({{"b", 2}})}});
  Schemas schemas;
  const auto changes = config_changes(before, after, schemas);
  REQUIRE(changes.size() == 1);
  CHECK(to_string(changes) == "  a: 1 -> {b = 2}");
}

TEST_CASE("for stages and tasks trained together, lengths and data may change, but not models") {
  const auto changes = [](const char* list, const char* path, Value to) {
    Value before = config();
    const Value task = Value::table({{"type", "vision/ImageClassification"}});
    before.set_path(list,
                    Value::array({Value::table({{"steps", 5}, {"weight", 1}, {"task", task}}),
                                  Value::table({{"steps", 6}, {"weight", 2}, {"task", task}})}));
    Value after = before;
    after.set_path(path, std::move(to));
    Schemas schemas;
    std::string text;
    for (const ConfigChange& change : config_changes(before, after, schemas)) {
      text += (change.breaks ? "!" : "") + change.path + " ";
    }
    return text;
  };
  CHECK(changes("trainer.stages", "trainer.stages[1].steps", 7) == "trainer.stages[1].steps ");
  CHECK(changes("trainer.stages", "trainer.stages[0].train_input.seed", 7) ==
        "trainer.stages[0].train_input.seed ");
  CHECK(changes("trainer.stages", "trainer.stages[0].model.type", "a/B") ==
        "!trainer.stages[0].model.type ");
  CHECK(changes("task.tasks", "task.tasks[0].weight", 3) == "task.tasks[0].weight ");
  CHECK(changes("task.tasks", "task.tasks[1].task.eval_input.type", "a/B") ==
        "task.tasks[1].task.eval_input.type ");
  CHECK(changes("task.tasks", "task.tasks[1].task.model.type", "a/B") ==
        "!task.tasks[1].task.model.type ");
  CHECK(changes("task.tasks", "task.tasks", Value::array({Value::table({{"steps", 5}})})) ==
        "task.tasks ");
  CHECK(changes("task.tasks", "task.tasks[1].task.type", "a/B") == "!task.tasks[1].task.type ");
  CHECK(changes("trainer.stages", "trainer.stages[1].optimizer.type", "a/B") ==
        "!trainer.stages[1].optimizer.type ");
  CHECK(changes("task.tasks", "task.tasks[1].models", 1) == "task.tasks[1].models ");
}

TEST_CASE("a field of a part with weights may change only if it is adjustable") {
  CHECK(breaks("task.model.dropout", 0.1, 0.2) == ".");
  CHECK(breaks("task.model.hidden", Value::array({1}), Value::array({2})) == "x");
  CHECK(breaks("trainer.optimizer.amsgrad", false, true) == "x");
  CHECK(breaks("trainer.optimizer.beta_1", 0.9, 0.8) == ".");
  CHECK(breaks("trainer.frozen", Value(), Value::array({"a/.*"})) == "x");
  CHECK(breaks("trainer.trainable", Value(), Value::array({"a/.*"})) == "x");
  CHECK(breaks("trainer.gradient_clip.value", 1.0, 2.0) == ".");
  CHECK(breaks("trainer.ema.decay", 0.9, 0.99) == ".");
  CHECK(breaks("trainer.learning_rate.type", "optim/Constant", "optim/Cosine") == ".");
  CHECK(breaks("task.model.rates.a", 1.0, 2.0) == ".");
  CHECK(breaks("task.model.widths.a", 1.0, 2.0) == "x");
}

TEST_CASE("marks apply to nested fields, except those of parts with weights") {
  Value before = config();
  before.set_path("task.model.block.type", "nn/Block");
  before.set_path("task.model.block.inner.type", "nn/Block");
  before.set_path("task.model.noise.type", "nn/Block");
  before.set_path("task.model.noise.inner.type", "nn/Block");
  before.set_path("task.head.type", "nn/Block");
  const Value block = Value::table({{"type", "nn/Block"}, {"dims", 1}});
  before.set_path("task.model.noises", Value::array({block, block}));
  before.set_path("task.model.layers", Value::array({block, block}));
  const auto number = [&](const char* path) { return breaks(path, 1, 2, before); };
  CHECK(number("task.model.block.dims") == "x");
  CHECK(number("task.model.block.dropout") == ".");
  CHECK(number("task.model.block.inner.dropout") == ".");
  CHECK(number("task.model.block.shared") == "x");
  CHECK(number("task.model.noise.dims") == ".");
  CHECK(number("task.model.noise.inner.dims") == "x");
  CHECK(number("task.model.noises[1].dims") == ".");
  CHECK(number("task.model.layers[1].dims") == "x");
  CHECK(number("task.model.layers[1].dropout") == ".");
  CHECK(number("task.head.dims") == "x");
  CHECK(number("task.head.dropout") == ".");
  CHECK(breaks("task.model.block", Value(), "none", before) == "x");
  CHECK(breaks("task.model.noise", Value(), "none", before) == ".");
  CHECK(breaks("task.model.layers", Value(), Value::array({block}), before) == "x");
  CHECK(breaks("task.model.noises", Value(), Value::array({block}), before) == ".");
  CHECK(breaks("task.model.noises[0].type", Value(), "nn/Other", before) == ".");
}

TEST_CASE("learners cannot change, but their rates and adjustable optimizer fields can") {
  Value before = config();
  const auto learner = [](const char* name) {
    return Value::table({{"name", name},
                         {"variables", Value::array({"a/.*"})},
                         {"optimizer", Value::table({{"type", "optim/Adam"}})}});
  };
  CHECK(breaks("trainer.learners", Value(), Value::array({learner("a")}), before) == "x");
  before.set_path("trainer.learners", Value::array({learner("a"), learner("b")}));
  CHECK(breaks("trainer.learners[0].name", Value(), "c", before) == ".");
  CHECK(breaks("trainer.learners[0].variables", Value(), Value::array({"b/.*"}), before) == "x");
  CHECK(breaks("trainer.learners[0].learning_rate.type", Value(), "a/B", before) == ".");
  CHECK(breaks("trainer.learners[1].optimizer.beta_1", Value(), 0.8, before) == ".");
  CHECK(breaks("trainer.learners[1].optimizer.amsgrad", Value(), true, before) == "x");
  CHECK(breaks("trainer.learners[1].optimizer.type", Value(), "optim/Sgd", before) == "x");
  CHECK(breaks("trainer.learners", Value(), Value::array({learner("a")}), before) == "x");
}

TEST_CASE("for a part with another type only the type is reported") {
  Value after = config();
  after.set_path("trainer.optimizer", Value::table({{"type", "optim/Sgd"}, {"momentum", 0.5}}));
  CHECK(compared(config(), after) ==
        "!trainer.optimizer.type: \"optim/Adam\" -> \"optim/Sgd\"\n"
        "trainer.optimizer.beta_1: 0.9 -> \n"
        "trainer.optimizer.momentum:  -> 0.5\n");
}

TEST_CASE("changes of a model without a schema are rejected with the reason") {
  Value before = config(), after = config();
  before.set_path("task.model.old", 1);
  CHECK(compared(before, after) == "!task.model.old: 1 ->  (this field no longer exists)\n");
  const auto other_model = [](const char* type) {
    Value value = config();
    value.set_path("task.model.type", type);
    Value changed = value;
    changed.set_path("task.model.hidden", 3);
    return compared(value, changed);
  };
  CHECK(other_model("missing/Mlp") ==
        "!task.model.hidden: [128] -> 3 (the adjustable fields of 'missing/Mlp' are unknown)\n");
  CHECK(other_model("gone/Mlp") ==
        "!task.model.hidden: [128] -> 3 (the adjustable fields of 'gone/Mlp' are unknown: the "
        "plugin cannot be used: it is damaged)\n");
  before = config();
  before.set_path("task.type", "gone/Task");
  CHECK(breaks("task.label_smoothing", Value(), 0.5, before) == "x");
  CHECK(breaks("task.train_input.seed", Value(), 5, before) == "x");
  // An input needs no schema.
  before = config();
  before.set_path("task.train_input.type", "gone/Input");
  after = before;
  after.set_path("task.train_input.batch_size", 64);
  CHECK(compared(before, after) == "task.train_input.batch_size: 128 -> 64\n");
}

// SPDX-License-Identifier: Apache-2.0
// Which changes of a config a run survives.
#include <catch2/catch.hpp>

#include "config/defaults.h"
#include "train/resume_check.h"

using namespace trivet;

namespace {

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

// "path: before -> after", with "!" in front of what breaks the run.
std::string changed(std::string_view path, Value to) {
  Value after = config();
  after.set_path(path, std::move(to));
  std::string text;
  for (const ConfigChange& change : config_changes(config(), after)) {
    text += (change.breaks ? "!" : "") + change.path + ": " + change.before + " -> " +
            change.after + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("equal configs have no changes") {
  CHECK(config_changes(config(), config()).empty());
  CHECK(changed("mode", "eval").empty());
  CHECK(changed("name", "other").empty());
  CHECK(changed("task.init_checkpoint", Value()).empty());  // null is how unset looks
}

TEST_CASE("defaults of fields that there were not are no changes") {
  Value field(0.5);
  CHECK(changed("task.model.new_field", field) == "!task.model.new_field:  -> 0.5\n");
  field.set_origin({.note = kDefaultNote});
  CHECK(changed("task.model.new_field", field).empty());
  // One that there was is compared as ever.
  Value other(0.25);
  other.set_origin({.note = kDefaultNote});
  CHECK(changed("task.label_smoothing", other) == "task.label_smoothing: 0.0 -> 0.25\n");
}

TEST_CASE("another task or model breaks a run, other changes do not") {
  CHECK(changed("trainer.train_steps", 200) == "trainer.train_steps: 100 -> 200\n");
  CHECK(changed("task.train_input.batch_size", 64) == "task.train_input.batch_size: 128 -> 64\n");
  CHECK(changed("task.eval_input.type", "data/Idx") == "task.eval_input.type:  -> \"data/Idx\"\n");
  CHECK(changed("task.name", "b") == "task.name: \"a\" -> \"b\"\n");
  CHECK(changed("trainer.optimizer.beta_1", 0.8) == "trainer.optimizer.beta_1: 0.9 -> 0.8\n");
  CHECK(changed("seed", 2) == "seed: 1 -> 2\n");
  CHECK(changed("task.decode.k", 3) == "task.decode.k:  -> 3\n");
  CHECK(changed("task.model.hidden", Value::array({256})) ==
        "!task.model.hidden: [128] -> [256]\n");
  CHECK(changed("task.model.dropout", 0.1) == "!task.model.dropout:  -> 0.1\n");
  CHECK(changed("task.type", "lm/Causal") ==
        "!task.type: \"vision/ImageClassification\" -> \"lm/Causal\"\n");
  // Of a task no field is known to be the weights': what does not fit is found by restoring.
  CHECK(changed("task.label_smoothing", 0.1) == "task.label_smoothing: 0.0 -> 0.1\n");
  CHECK(changed("task.print_every", 5) == "task.print_every:  -> 5\n");
  CHECK(changed("trainer.optimizer.type", "optim/Sgd") ==
        "!trainer.optimizer.type: \"optim/Adam\" -> \"optim/Sgd\"\n");
}

TEST_CASE("a value that became a table is one change, with all below it") {
  const Value before = Value::table({{"a", 1}});
  const Value after = Value::table({{"a", Value::table({{"b", 2}})}});
  const auto changes = config_changes(before, after);
  REQUIRE(changes.size() == 1);
  CHECK(to_string(changes) == "  a: 1 -> {b = 2}");
}

TEST_CASE("of stages and of tasks trained together, lengths and data may change, models may not") {
  const auto changes = [](const char* list, const char* path, Value to) {
    Value before = config();
    before.set_path(list, Value::array({Value::table({{"steps", 5}, {"weight", 1}}),
                                        Value::table({{"steps", 6}, {"weight", 2}})}));
    Value after = before;
    after.set_path(path, std::move(to));
    std::string text;
    for (const ConfigChange& change : config_changes(before, after)) {
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

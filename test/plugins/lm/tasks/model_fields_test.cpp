// SPDX-License-Identifier: Apache-2.0
// Fields of inputs that no part of the model reads.
#include <string>

#include <catch2/catch.hpp>

#include "lm/tasks/language_modeling.h"
#include "trivet/error.h"

namespace lm_model_fields_test {
namespace {

using namespace trivet;
using Catch::Contains;

Value input(const char* task_ids) {
  return Value::table({{"type", "data/LanguageModel"}, {"task_ids", task_ids}});
}

// A model whose block has these fields.
Value model(std::initializer_list<std::pair<std::string_view, Value>> block,
            const char* block_type = "nn/TransformerBlock") {
  Value fields = Value::table(block);
  fields.set("type", block_type);
  return Value::table({{"type", "lm/LanguageModel"}, {"block_tpl", std::move(fields)}});
}

// What the rules of a task say.
std::string problems(const Value& task) {
  Diagnostics diagnostics;
  check_rules<lm::LanguageModelingConfig>(task, "task", diagnostics);
  std::string all;
  for (const Diagnostic& one : diagnostics.list()) all += one.path + ": " + one.what + "\n";
  return all;
}

}  // namespace

TEST_CASE("task_ids that no block reads are refused", "[lm]") {
  const Value plain = model({{"adapter_dims", 4}});
  CHECK(problems(Value::table({{"model", plain}, {"train_input", input("{task}")}})) ==
        "task.train_input.task_ids: has no effect: no block of the model has adapter_tasks\n");
  CHECK_THAT(problems(Value::table({{"model", plain}, {"eval_input", input("0")}})),
             Contains("task.eval_input.task_ids: "));
  const Value sets = Value::array({Value::table({{"name", "a"}, {"input", input("")}}),
                                   Value::table({{"name", "b"}, {"input", input("1")}})});
  CHECK(problems(Value::table({{"model", plain}, {"eval_inputs", sets}})) ==
        "task.eval_inputs[1].input.task_ids: has no effect: no block of the model has "
        "adapter_tasks\n");
}

TEST_CASE("task_ids that a block may read pass", "[lm]") {
  const auto with_ids = [](Value of_model) {
    return problems(Value::table({{"model", std::move(of_model)}, {"train_input", input("1")}}));
  };
  CHECK(with_ids(model({{"adapter_dims", 4}, {"adapter_tasks", 2}})) == "");
  CHECK(with_ids(model({}, "other/Block")) == "");
  CHECK_THAT(with_ids(model({{"adapter_tasks", 0}})), Contains("has no effect"));
  CHECK(problems(Value::table({{"model", model({})}, {"train_input", input("")}})) == "");
  CHECK(problems(Value::table({{"train_input", input("1")}})) == "");
}

}  // namespace lm_model_fields_test

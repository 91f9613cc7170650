// SPDX-License-Identifier: Apache-2.0
#include "experiments.h"

#include "image_classification.h"
#include "mlp.h"

namespace trivet::vision {
namespace {

constexpr std::int64_t kClasses = 10;

Value image_shape() {
  return Value::array({16, 16, 1});
}

enum class Order { as_made, shuffled };

ConfigOf<Input> made_up_images(std::int64_t examples, std::int64_t batch_size, Order order) {
  return {"data/Synthetic", Value::table({{"image_shape", image_shape()},
                                          {"num_classes", kClasses},
                                          {"examples", examples},
                                          {"batch_size", batch_size},
                                          {"shuffle", order == Order::shuffled},
                                          {"seed", 1}})};
}

// The members must be equal if both exist; another input or model may have neither.
void must_agree(Diagnostics& diagnostics, const Value& task, const std::string& path,
                const std::string& other) {
  const Value* value = task.find_path(path);
  const Value* wanted = task.find_path(other);
  if (value == nullptr || wanted == nullptr || *value == *wanted) return;
  diagnostics.add("task." + path,
                  "is " + to_toml(*value) + ", but task." + other + " is " + to_toml(*wanted),
                  "set both");
}

}  // namespace

ExperimentConfig mnist_local() {
  MlpConfig model;
  model.image_shape = {16, 16, 1};
  model.hidden_dims = {64};
  ImageClassificationConfig task;
  task.num_classes = kClasses;
  task.model = model;
  task.train_input = made_up_images(4096, 64, Order::shuffled);
  task.eval_input = made_up_images(1024, 128, Order::as_made);
  ExperimentConfig config;
  config.seed = 1;
  config.task = task;
  config.trainer = {"trivet/Trainer", Value::table({{"train_steps", 300},
                                                    {"steps_per_loop", 20},
                                                    {"validation_interval", 150},
                                                    {"checkpoint_interval", 100},
                                                    {"optimizer", "optim/Adam"},
                                                    {"learning_rate", 0.003}})};
  return config;
}

void fits_its_inputs(const ExperimentConfig& config, Diagnostics& diagnostics) {
  const Value& task = config.task.fields();
  for (const std::string input : {"train_input", "eval_input"}) {
    must_agree(diagnostics, task, input + ".image_shape", "model.image_shape");
    must_agree(diagnostics, task, input + ".num_classes", "num_classes");
  }
}

}  // namespace trivet::vision

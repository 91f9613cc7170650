// SPDX-License-Identifier: Apache-2.0
// A program with runs of its own, for embedded_run_test.cpp: an experiment that it has built, the
// same run continued, and mistakes. Arguments: a folder for its runs.
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

#include <trivet/error.h>
#include <trivet/train/run.h>

namespace {

using trivet::Value;

trivet::ExperimentConfig experiment() {
  const auto images = [](int examples) {
    return Value::table({{"type", "data/Synthetic"},
                         {"image_shape", Value::array({8, 8, 1})},
                         {"num_classes", 10},
                         {"examples", examples},
                         {"batch_size", 16}});
  };
  trivet::ExperimentConfig config;
  config.name = "built";
  config.seed = 3;
  config.task = {"vision/ImageClassification",
                 Value::table({{"num_classes", 10},
                               {"model", Value::table({{"type", "vision/Mlp"},
                                                       {"image_shape", Value::array({8, 8, 1})},
                                                       {"hidden_dims", Value::array({8})}})},
                               {"train_input", images(64)},
                               {"eval_input", images(32)}})};
  config.trainer = {
      "trivet/Trainer",
      Value::table({{"train_steps", 20}, {"optimizer", "optim/Sgd"}, {"learning_rate", 0.1}})};
  return config;
}

void show(const char* name, const trivet::RunOptions& options) {
  int lines = 0;
  trivet::RunOptions own = options;
  own.on_line = [&](std::string_view line) {
    if (line.starts_with("eval step=")) ++lines;
    throw std::exception();  // of a listener, which does not matter
  };
  try {
    const trivet::RunResult result = trivet::run(own);
    std::cout << name << ": code " << result.exit_code << ", " << lines << " evaluations, step "
              << result.summary.at("step", "the summary").as_integer() << ", "
              << result.directory.filename().string() << '\n';
  } catch (const trivet::ConfigError& error) {
    std::cout << name << ": ConfigError " << error.what() << '\n';
  } catch (const trivet::UsageError& error) {
    std::cout << name << ": UsageError " << error.what() << '\n';
  }
}

}  // namespace

int main(int, char** argv) {
  const std::filesystem::path root = argv[1];
  show("first", {.experiment = experiment(), .root = root});
  show("continued", {.experiment = experiment(),
                     .overrides = {"trainer.train_steps=30"},
                     .workdir = root / "1-built"});
  show("wrong", {.experiment = experiment(), .overrides = {"trainer.steps=30"}, .root = root});
  show("both", {.config = "a.toml", .experiment = experiment()});
  show("none", {});
  return 0;
}

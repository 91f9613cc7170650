// SPDX-License-Identifier: Apache-2.0
// A program that trains a config and prints how well its model does:
//
//   c++ embedded_run.cpp $(pkg-config --cflags --libs trivet-host)
#include <exception>
#include <filesystem>
#include <iostream>
#include <string_view>

#include <trivet/train/run.h>

namespace {

trivet::RunResult train(const std::filesystem::path& config, const std::filesystem::path& workdir) {
  // [run]
  trivet::RunOptions options;
  options.config = config;
  options.overrides = {"trainer.train_steps=100"};
  options.workdir = workdir;
  options.on_line = [](std::string_view line) { std::cout << line << '\n'; };
  const trivet::RunResult result = trivet::run(options);
  // [/run]
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: embedded_run CONFIG WORKDIR\n";
    return 2;
  }
  try {
    const trivet::RunResult result = train(argv[1], argv[2]);
    const trivet::Value* loss = result.summary.find_path("eval.validation_loss");
    std::cout << result.directory.string() << ": validation_loss "
              << (loss != nullptr ? loss->as_float() : -1) << '\n';
    return result.exit_code;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

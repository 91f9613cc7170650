// SPDX-License-Identifier: Apache-2.0
// Norms: prints each variable of a trained run with its shape and its Euclidean norm.
//
//   $ trivet norms runs/1-local
#pragma once

#include <array>
#include <cmath>
#include <cstdio>

#include <trivet/command.h>
#include <trivet/config/arguments.h>
#include <trivet/error.h>

namespace acme {

// [class]
struct NormsConfig : trivet::CommandConfig {};
TRIVET_CONFIG(NormsConfig, trivet::CommandConfig)

class Norms final : public trivet::Command {
 public:
  using Config = NormsConfig;

  Norms(const Config&, trivet::CommandContext& context) : context_(context) {}

  int run(std::span<const std::string> words) override {
    const trivet::Arguments arguments = trivet::parse_arguments(words, kOptions);
    if (arguments.has("help")) {
      std::printf("usage: trivet norms [OPTIONS] RUN\n%s", trivet::options_text(kOptions).c_str());
      return 0;
    }
    const std::vector<std::string> runs = arguments.plain();
    if (runs.size() != 1) {
      throw trivet::UsageError("norms takes one run", {.hint = "trivet norms runs/1-local"});
    }
    const auto run = context_.trained(runs.front(), {});
    for (const auto& [path, tensor] : run->weights()) {
      double sum = 0;
      for (const float value : tensor.to_host<float>()) sum += double{value} * value;
      if (arguments.has("rms") && tensor.size() > 0) sum /= static_cast<double>(tensor.size());
      std::printf("%-24s %-12s %.6g\n", path.c_str(), tensor.shape().to_string().c_str(),
                  std::sqrt(sum));
    }
    return 0;
  }

 private:
  static constexpr std::array<trivet::OptionSpec, 2> kOptions = {{
      {.name = "rms", .doc = "The root of the mean square instead of the norm"},
      {.name = "help", .doc = "This text"},
  }};

  trivet::CommandContext& context_;
};
// [/class]

}  // namespace acme

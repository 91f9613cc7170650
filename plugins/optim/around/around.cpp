// SPDX-License-Identifier: Apache-2.0
#include "optim/around/around.h"

#include <utility>

#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace trivet::optim {

Around::Around(const ConfigOf<Optimizer>& optimizer) : optimizer_(make(optimizer)) {}

void Around::check_variables(std::span<const Parameter* const> variables) const {
  try {
    optimizer_->check_variables(variables);
  } catch (const ConfigError& error) {
    std::vector<Diagnostic> problems = error.diagnostics();
    for (Diagnostic& problem : problems) problem.path = "optimizer." + problem.path;
    throw ConfigError(std::move(problems));
  }
}

void Around::update_inner(const OptimizerStep& step, const OptimizerSegment& segment) {
  std::vector<OptimizerSegment> inner{segment};
  optimizer_->update(step, inner);
}

}  // namespace trivet::optim

// SPDX-License-Identifier: Apache-2.0
// What must hold between the parts of any experiment.
#include "trivet/experiment.h"

#include <string>

#include "trivet/train/eval_input.h"

namespace trivet {
namespace {

void check_parts(const ExperimentConfig& config, Diagnostics& diagnostics) {
  const Value* batch_size = config.task.fields().find_path("train_input.batch_size");
  const Value* parts = config.trainer.fields().find("gradient_accumulation");
  if (batch_size == nullptr || parts == nullptr) return;
  if (!batch_size->is_integer() || !parts->is_integer() || parts->as_integer() < 1) return;
  if (batch_size->as_integer() % parts->as_integer() == 0) return;
  diagnostics.add(
      "trainer.gradient_accumulation",
      "is " + to_toml(*parts) +
          ", which does not divide task.train_input.batch_size = " + to_toml(*batch_size),
      "every part of a batch must have as many examples");
}

// The share of an input in the global batch is set twice, by the mesh and by the input.
void check_share(const ExperimentConfig& config, Diagnostics& diagnostics) {
  if (config.mesh.percore_batch_size <= 0) return;
  Diagnostics of_mesh;
  config.mesh.validate(of_mesh);
  if (!of_mesh.empty()) return;  // told where they are
  const BatchShare share = batch_share(config.mesh);
  const auto expect = [&](const char* field, std::int64_t wanted) {
    const std::string path = std::string("train_input.") + field;
    const Value* value = config.task.fields().find_path(path);
    if (value == nullptr || !value->is_integer() || value->as_integer() == wanted) return;
    diagnostics.add("task." + path, "is " + to_toml(*value) +
                                        ", and mesh.percore_batch_size makes it " +
                                        std::to_string(wanted) + " (a global batch of " +
                                        std::to_string(share.global) + ")");
  };
  expect("batch_size", share.batch_size);
  expect("num_infeed_hosts", share.num_infeed_hosts);
}

}  // namespace

void ExperimentConfig::validate(Diagnostics& diagnostics) const {
  check_parts(*this, diagnostics);
  check_eval_input_names(task.fields().find("eval_inputs"), "task.eval_inputs", diagnostics);
  if (diagnostics.empty()) check_share(*this, diagnostics);
}

}  // namespace trivet

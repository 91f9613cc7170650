// SPDX-License-Identifier: Apache-2.0
// What must hold between the parts of any experiment.
#include "trivet/experiment.h"

namespace trivet {

void ExperimentConfig::validate(Problems& problems) const {
  const Value* batch_size = task.fields().find_path("train_input.batch_size");
  const Value* parts = trainer.fields().find("gradient_accumulation");
  if (batch_size == nullptr || parts == nullptr) return;
  if (!batch_size->is_integer() || !parts->is_integer() || parts->as_integer() < 1) return;
  if (batch_size->as_integer() % parts->as_integer() == 0) return;
  problems.add("trainer.gradient_accumulation",
               "is " + to_toml(*parts) +
                   ", which does not divide task.train_input.batch_size = " + to_toml(*batch_size),
               "every part of a batch must have as many examples");
}

}  // namespace trivet

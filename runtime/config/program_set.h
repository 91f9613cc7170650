// SPDX-License-Identifier: Apache-2.0
// The modes that run one program (decode, infer) use the sets of task.eval_inputs with this
// program. Where a config has none, they run it on the data of task.eval_input.
#pragma once

#include "trivet/config/value.h"

namespace trivet {

// Adds to `root`, a config before its defaults, a set "eval_input" with the mode's program if it is
// needed and possible.
void add_program_set(Value& root);

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// ReplicaCheck: whether the processes of a run still hold alike what each of them has whole: the
// weights after an update, unless they are in parts, and the states of layers. They do by
// construction, so a difference comes from a machine that has gone wrong, or from a plugin that
// computes otherwise there.
//
// Processes compare checksums of all variables (trivet/config/digest.h), then of each where those
// differ. A difference that the update of the next step removes, as each process gets what the
// others have updated, is seen in the step that it arises in or never.
#pragma once

#include <cstdint>

#include "trivet/backend/process_group.h"
#include "trivet/layer/parameter_store.h"

namespace trivet {

class ReplicaCheck {
 public:
  // Of the processes of a group, every `interval` steps (MeshConfig::check_interval) and before
  // each checkpoint; 0: never. A null group is one process, which compares nothing. Group and
  // store must outlive this.
  ReplicaCheck(ProcessGroup* group, const ParameterStore& store, std::int64_t interval);

  // At the end of a step, and before that of a checkpoint is saved. All processes make these calls,
  // and all throw the same RunError, which names the processes that differ and the first variable
  // in which they do.
  void end_step(std::int64_t step) const;
  void before_save(std::int64_t step) const;

 private:
  void compare(std::int64_t step) const;

  ProcessGroup* const group_;
  const ParameterStore& store_;
  const std::int64_t interval_;
};

}  // namespace trivet

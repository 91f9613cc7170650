// SPDX-License-Identifier: Apache-2.0
// Why each process of a run on a mesh computes with all rows of weights that may be computed with
// apart (trivet/layer/row_share.h), such as experts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/backend/mesh.h"

namespace trivet {

struct RowUse {
  std::vector<std::int64_t> rows{};  // of each of these weights
  bool has_parts = false;            // processes have parts of the weights
  bool has_whole_variables = false;  // and these are whole variables
  bool has_gradients_in_parts = false;
  std::int64_t gradient_accumulation = 1;
  bool moves_rows = false;  // the step exchanges what rows work on
};

// "4 processes would have 1 of 4 each, and a process needs 2"; empty where each process computes
// with its own rows, where the mesh has one shard, and where no weights have such rows. The mesh
// must be one that runs train (check_mesh).
std::string why_rows_are_gathered(const MeshConfig& mesh, const RowUse& use);

}  // namespace trivet

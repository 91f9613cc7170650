// SPDX-License-Identifier: Apache-2.0
// Conformance check of a communication engine: whether it keeps what trivet/backend/collective.h
// promises. Every process of a started run calls it, such as those of mpirun. run_processes.h
// starts those of an engine without a launcher.
#pragma once

#include <cstdint>
#include <string>

#include "trivet/backend/collective.h"

namespace trivet::testing {

struct CollectiveCheckOptions {
  // Of a message that is sent once more, to find counts that are cut: 2^31 + 5 needs 4 GiB of
  // memory for two processes. 0: none.
  std::uint64_t large_bytes = 0;
};

// Empty when the engine keeps its promises to this process, otherwise a text with a line for each
// broken one. Starts and finishes the engine. Tries transfers of no byte, of one and of megabytes
// between all ranks, many at once, ended in another order than started, on the world, on parts of
// it and on both at a time. [main-thread]
std::string check_collective(const tv_collective* engine,
                             const CollectiveCheckOptions& options = {});

}  // namespace trivet::testing

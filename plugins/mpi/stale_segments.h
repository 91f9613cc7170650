// SPDX-License-Identifier: Apache-2.0
// Shared memory that Open MPI leaves behind where its launcher was killed: a file of some MiB for
// each process, which nothing removes until the machine starts again.
#pragma once

#include <filesystem>

namespace trivet::mpi {

// Removes files of this user named vader_segment.* that no process has mapped, and that are older
// than a minute: younger ones may be of processes that begin.
void remove_stale_segments(const std::filesystem::path& directory);

}  // namespace trivet::mpi

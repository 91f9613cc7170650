// SPDX-License-Identifier: Apache-2.0
// OtherWriters: the other processes of a run, which write their parts of a checkpoint themselves.
// This process, the first one, has made the directory, and publishes it when all are done.
#pragma once

#include <filesystem>
#include <future>
#include <vector>

#include "checkpoint/checkpoint_part.h"

namespace trivet {

class OtherWriters {
 public:
  virtual ~OtherWriters() = default;

  // With this one.
  virtual int processes() const = 0;
  // Call it once all have begun to write into the directory. Gives what they have written, by rank
  // from 1, when all of them are done. Throws RunError if one has failed; it is given only then,
  // too, so that nobody writes any more. [run-thread]
  virtual std::shared_future<std::vector<WrittenPart>> begin(
      const std::filesystem::path& directory) = 0;
  // Waits until all are done, for mesh.timeout at most: call it once the part of this process is
  // written. Throws RunError if a process is gone; the future then throws, too. [run-thread]
  virtual void wait() = 0;
};

}  // namespace trivet

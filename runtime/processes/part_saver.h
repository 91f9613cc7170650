// SPDX-License-Identifier: Apache-2.0
// PartSaver: on another process than rank 0, writes the process's parts of checkpoints while
// training continues, and reports to rank 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <string>

#include "checkpoint/checkpoint_snapshot.h"
#include "processes/world.h"
#include "trivet/trainer.h"

namespace trivet {

// From rank 0 to the others: all report a save that they have not reported yet.
inline constexpr const char* kEndOfSave = "end_save";

class PartSaver {
 public:
  explicit PartSaver(World& world);
  ~PartSaver();
  PartSaver(const PartSaver&) = delete;
  PartSaver& operator=(const PartSaver&) = delete;

  // Copies the process's parts of what the trainer saves, and begins to write them into the
  // directory, which rank 0 has made. Throws what the trainer throws. [run-thread]
  void save(Trainer& trainer, const std::filesystem::path& directory);
  // If a write has ended since the last call, sends the report to rank 0. Returns its length, or 0.
  // [run-thread]
  std::int64_t send_report();
  // The part of this process in FollowerWriters::wait. [run-thread]
  void finish();

 private:
  std::string write(const std::filesystem::path& directory) const;

  World& world_;
  CheckpointSnapshot snapshot_;
  std::future<std::string> writing_;  // the report
};

// From the report of a process. Throws RunError if it has failed.
WrittenPart written_part_of_report(const std::string& report, int rank, int processes);

}  // namespace trivet

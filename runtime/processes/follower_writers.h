// SPDX-License-Identifier: Apache-2.0
// FollowerWriters: on rank 0, what it knows of the writes of the other processes (PartSaver). They
// report with the records of steps, so that training waits for no write, or when rank 0 waits. Of a
// run that fails before, it looks for their files (report_file_name).
#pragma once

#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/other_writers.h"
#include "processes/lead_trainer.h"
#include "processes/world.h"

namespace trivet {

class FollowerWriters final : public OtherWriters {
 public:
  explicit FollowerWriters(World& world) : world_(world) {}
  // Waits some seconds for the others to end a write, less if one of them is gone.
  ~FollowerWriters() override;
  FollowerWriters(const FollowerWriters&) = delete;
  FollowerWriters& operator=(const FollowerWriters&) = delete;

  int processes() const override { return world_.size(); }
  std::shared_future<std::vector<WrittenPart>> begin(
      const std::filesystem::path& directory) override;
  void wait() override;

  // Receives the reports of which the records of a step tell. [run-thread]
  void receive(const std::vector<StepRecord>& records);

 private:
  struct Save {
    std::promise<std::vector<WrittenPart>> done;
    std::filesystem::path directory;
    std::vector<std::string> reports{};  // by rank; empty: it has not come
  };
  void look_for_files();
  bool has_all_reports() const;
  void end();

  World& world_;
  std::optional<Save> save_;
};

}  // namespace trivet

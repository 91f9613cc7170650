// SPDX-License-Identifier: Apache-2.0
// World: this process among those that it works with, by a communication engine
// (trivet/backend/collective.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trivet/backend/collective.h"

namespace trivet {

// The engine of a key of kind "collective". Throws ConfigError, with `path` as the place of the
// key: no plugin offers it; PluginError: its table is of another version, or lacks functions.
const tv_collective& collective_engine(const std::string& key, const std::string& path);

class World {
 public:
  // Starts the engine, and waits for all processes. Throws RunError with the engine's reason.
  World(const tv_collective& engine, std::string key);
  // Waits for all processes, unless one of the calls has failed.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return about_.rank; }
  int size() const { return about_.size; }
  // Of the processes of this machine.
  int local_size() const { return about_.local_size; }
  std::string name() const { return static_cast<const char*>(about_.name); }

  // Each call waits for its end. Throws RunError: another process is gone, the engine fails.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all);
  // Sends the r-th part of `mine` to rank r, and gets its part for this rank; parts are equal.
  void all_to_all(std::span<const std::byte> mine, std::span<std::byte> theirs);

 private:
  void check(tv_status status, const char* function);
  void wait(tv_request* request, const char* function);

  const tv_collective& engine_;
  std::string key_;
  tv_collective_host host_{};
  tv_comm* comm_ = nullptr;
  tv_world about_{};
  std::string error_{};
  bool failed_ = false;
};

}  // namespace trivet

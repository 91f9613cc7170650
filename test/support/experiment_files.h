// SPDX-License-Identifier: Apache-2.0
// Files of launched experiments, made without launching, for tests of listings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace trivet::test {

class ExperimentFiles {
 public:
  // Below this directory, which need not exist.
  explicit ExperimentFiles(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path directory(std::int64_t xid) const { return root_ / std::to_string(xid); }
  std::filesystem::path unit(std::int64_t xid, std::int64_t wid) const {
    return directory(xid) / std::to_string(wid);
  }
  std::filesystem::path attempt(std::int64_t xid, std::int64_t wid) const {
    return unit(xid, wid) / "jobs/main/1";
  }

  // An experiment with units 1 to `units`, each of one job "main" and with the sweep {"n": wid,
  // "lr": wid / 100}.
  void add(std::int64_t xid, std::int64_t units) const;
  void add_units(std::int64_t xid, std::int64_t first, std::int64_t last) const;

  // The next state of a unit's job, in its first attempt.
  void add_event(std::int64_t xid, std::int64_t wid, const std::string& state) const;

  // A run that is done, in the unit's directory: 40 steps, evaluated at 20 and 40. Its accuracy
  // was first `best` and is a half of it now, its validation_loss was 1 and is 2.
  void add_run(std::int64_t xid, std::int64_t wid, double best) const;

 private:
  std::filesystem::path root_;
};

// Appends to a file, creating it if needed.
void append(const std::filesystem::path& file, const std::string& text);

}  // namespace trivet::test

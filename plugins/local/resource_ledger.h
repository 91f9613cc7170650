// SPDX-License-Identifier: Apache-2.0
// ResourceLedger: a file in which the supervisors of one user on one machine record what their jobs
// use, so that experiments share the machine.
//
//   $XDG_RUNTIME_DIR/trivet/ledger.json    or /run/user/UID/trivet/, else /tmp/trivet-UID/
//
// An allocation counts while its process lives. The jobs of a killed supervisor keep their
// allocations, but the supervisor's reservation lapses. A supervisor that waits for resources
// leaves a reservation; later ones keep those resources free. If the file is lost or damaged, it
// fills again, since every supervisor writes all of its allocations each time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "machine.h"
#include "trivet/os/file.h"

namespace trivet::local {

struct Owner {
  pid_t pid = 0;
  std::int64_t start_ticks = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};
Owner this_process();

// What a running job uses. Its owner is the attempt's shim.
struct Allocation {
  Owner owner;
  Resources taken;
  std::vector<int> cpus{};          // cores it is pinned to; may be empty
  std::vector<std::string> gpus{};  // assigned to it
};

// Resources that a supervisor waits for.
struct Reservation {
  Owner owner;
  Resources wanted;
  std::int64_t number = 0;  // smaller numbers come first
};

std::filesystem::path ledger_directory();

class ResourceLedger {
 public:
  // Creates the directory. Throws RunError if that fails or others can write to it.
  explicit ResourceLedger(std::filesystem::path directory = ledger_directory());
  ResourceLedger(const ResourceLedger&) = delete;
  ResourceLedger& operator=(const ResourceLedger&) = delete;

  // Readable when somebody has written; poll it while waiting for room. take_news() empties it.
  int news_fd() const { return news_.get(); }
  void take_news();

  // Locks the ledger during its lifetime and reads the others' entries.
  class Page {
   public:
    // `own`: allocations of this supervisor's jobs, also those that an earlier supervisor wrote.
    Page(ResourceLedger& ledger, const std::vector<Allocation>& own);
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    ~Page();

    const std::vector<Allocation>& others() const { return others_; }
    // Other supervisors' reservations before `own`; all of them if it is empty.
    std::vector<Reservation> reservations_before(const std::optional<Reservation>& own) const;
    // One more than all others' numbers.
    std::int64_t next_reservation() const;

    // Rewrites the file: the others' entries and these. Throws RunError.
    void write(const std::vector<Allocation>& own, const std::optional<Reservation>& reservation);

   private:
    ResourceLedger& ledger_;
    UniqueFd file_;
    std::string before_;
    std::vector<Allocation> others_;
    std::vector<Reservation> reservations_;
  };

 private:
  std::filesystem::path path_;
  Owner self_;
  UniqueFd news_;
};

}  // namespace trivet::local

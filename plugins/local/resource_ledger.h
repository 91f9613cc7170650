// SPDX-License-Identifier: Apache-2.0
// ResourceLedger: a file in which the supervisors of one user on one machine write what their jobs
// take, so that experiments share the machine instead of each having all of it.
//
//   $XDG_RUNTIME_DIR/trivet/ledger.json    or /run/user/UID/trivet/, else /tmp/trivet-UID/
//
// An allocation counts as long as its process lives: what a killed supervisor has left is nobody's,
// but its jobs keep their allocations. Whoever waits for room leaves a reservation; what it asks
// for is kept free by those who come later. A ledger that is gone or damaged fills again, since
// every supervisor writes all of its allocations each time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "machine.h"
#include "trivet/os/file.h"

namespace trivet::local {

struct Owner {
  pid_t pid = 0;
  std::int64_t start_ticks = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};
Owner this_process();

// What a running job takes; its owner is the attempt's shim.
struct Allocation {
  Owner owner;
  Resources taken;
  std::vector<int> cpus{};          // it is bound to; may be empty
  std::vector<std::string> gpus{};  // it was given
};

// What a supervisor waits for.
struct Reservation {
  Owner owner;
  Resources wanted;
  std::int64_t number = 0;  // smaller ones come first
};

std::filesystem::path ledger_directory();

class ResourceLedger {
 public:
  // Makes the directory. Throws RunError when it cannot or when others may write to it.
  explicit ResourceLedger(std::filesystem::path directory = ledger_directory());
  ResourceLedger(const ResourceLedger&) = delete;
  ResourceLedger& operator=(const ResourceLedger&) = delete;

  // Readable when somebody has written; poll it while waiting for room. take_news() empties it.
  int news_fd() const { return news_.get(); }
  void take_news();

  // Locks the ledger as long as it lives and reads what others have.
  class Page {
   public:
    // `own`: allocations of this supervisor's jobs, whoever has written them before.
    Page(ResourceLedger& ledger, const std::vector<Allocation>& own);
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    ~Page();

    const std::vector<Allocation>& others() const { return others_; }
    // Of others that wait, those before `own`; all of them for nothing.
    std::vector<Reservation> reservations_before(const std::optional<Reservation>& own) const;
    // One behind all others'.
    std::int64_t next_reservation() const;

    // Writes it anew: what others have, and this. Throws RunError.
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

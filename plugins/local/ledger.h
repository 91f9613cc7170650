// SPDX-License-Identifier: Apache-2.0
// Ledger: a file in which the supervisors of one user on one machine write what their jobs take, so
// that experiments share the machine instead of each having all of it.
//
//   $XDG_RUNTIME_DIR/trivet/ledger.json    or /run/user/UID/trivet/, else /tmp/trivet-UID/
//
// A row counts as long as its process lives: what a killed supervisor has left is nobody's, but its
// jobs keep their rows. Whoever waits for room leaves a ticket; what it asks for is kept free by
// those who come later. A ledger that is gone or damaged fills again, since every supervisor writes
// all of its rows each time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "machine.h"

namespace trivet::local {

struct Owner {
  pid_t pid = 0;
  std::int64_t start_ticks = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};
Owner this_process();

// What a running job takes; its owner is the attempt's keeper.
struct Row {
  Owner owner;
  Resources taken;
  std::vector<int> cpus{};          // it is bound to; may be empty
  std::vector<std::string> gpus{};  // it was given
};

// What a supervisor waits for.
struct Ticket {
  Owner owner;
  Resources wanted;
  std::int64_t number = 0;  // smaller ones come first
};

std::filesystem::path ledger_directory();

class Ledger {
 public:
  // Makes the directory. Throws RunError when it cannot or when others may write to it.
  explicit Ledger(std::filesystem::path directory = ledger_directory());
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger();

  // Readable when somebody has written; poll it while waiting for room. take_news() empties it.
  int news_fd() const { return news_; }
  void take_news();

  // Locks the ledger as long as it lives and reads what others have.
  class Page {
   public:
    // `own`: rows of this supervisor's jobs, whoever has written them before.
    Page(Ledger& ledger, const std::vector<Row>& own);
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    ~Page();

    const std::vector<Row>& others() const { return others_; }
    // Of others that wait, those before `own`; all of them for nothing.
    std::vector<Ticket> tickets_before(const std::optional<Ticket>& own) const;
    // One behind all others'.
    std::int64_t next_ticket() const;

    // Writes it anew: what others have, and this. Throws RunError.
    void write(const std::vector<Row>& own, const std::optional<Ticket>& ticket);

   private:
    Ledger& ledger_;
    int file_ = -1;
    std::string before_;
    std::vector<Row> others_;
    std::vector<Ticket> tickets_;
  };

 private:
  std::filesystem::path path_;
  Owner self_;
  int news_ = -1;
};

}  // namespace trivet::local

// SPDX-License-Identifier: Apache-2.0
// The ledger that experiments on one machine share, and the capacity left for a job.
#include "local/resource_ledger.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "local/capacity.h"
#include "support/jobs.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/os/process.h"

namespace local_ledger_test {

using namespace trivet::local;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;
using Allocation = trivet::local::Allocation;

namespace {

Allocation row_of(const Owner& owner, std::int64_t cores) {
  return {.owner = owner, .taken = {cores, 100, 1}, .cpus = {3, 5}, .gpus = {"a"}};
}

// A process that lives until this object does not.
class Sleeper {
 public:
  Sleeper() : pid_(in_child([] { ::pause(); })) {}
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { end(); }
  Owner owner() const { return {pid_, trivet::start_ticks(pid_)}; }
  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    wait_for_child(pid_);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

void write_rows(const fs::path& directory, const std::vector<Allocation>& allocations,
                const std::optional<Reservation>& reservation = std::nullopt) {
  ResourceLedger ledger(directory);
  ResourceLedger::Page(ledger, allocations).write(allocations, reservation);
}

const Machine kMachine{{0, 1, 2, 3}, 1000, {"x", "y"}};
const Limits kLimits{kMachine.resources(), 100, true};

}  // namespace

TEST_CASE("ledger: a row counts for others as long as its process lives") {
  const TempDir dir;
  Sleeper shim;
  write_rows(dir / "l", {row_of(shim.owner(), 2)});
  ResourceLedger ledger(dir / "l");
  {
    const ResourceLedger::Page page(ledger, {});
    REQUIRE(page.others().size() == 1);
    const Allocation& allocation = page.others()[0];
    CHECK(allocation.owner == shim.owner());
    CHECK(allocation.taken.cores == 2);
    CHECK(allocation.taken.memory_bytes == 100);
    CHECK(allocation.taken.gpus == 1);
    CHECK(allocation.cpus == std::vector<int>{3, 5});
    CHECK(allocation.gpus == std::vector<std::string>{"a"});
  }
  CHECK(ResourceLedger::Page(ledger, {row_of(shim.owner(), 2)}).others().empty());
  shim.end();
  CHECK(ResourceLedger::Page(ledger, {}).others().empty());
}

TEST_CASE("ledger: a process id that is used again is another process") {
  const TempDir dir;
  const Sleeper shim;
  write_rows(dir / "l", {row_of({shim.owner().pid, shim.owner().start_ticks + 1}, 2)});
  ResourceLedger ledger(dir / "l");
  CHECK(ResourceLedger::Page(ledger, {}).others().empty());
}

TEST_CASE("ledger: a write keeps the others' rows and replaces its own") {
  const TempDir dir;
  const Sleeper one, two;
  write_rows(dir / "l", {row_of(one.owner(), 1)});
  write_rows(dir / "l", {row_of(two.owner(), 2)});
  ResourceLedger ledger(dir / "l");
  CHECK(ResourceLedger::Page(ledger, {}).others().size() == 2);
  ResourceLedger::Page(ledger, {row_of(two.owner(), 2)}).write({}, std::nullopt);
  const ResourceLedger::Page page(ledger, {});
  REQUIRE(page.others().size() == 1);
  CHECK(page.others()[0].owner == one.owner());
}

TEST_CASE("ledger: waiting supervisors are served in order") {
  const TempDir dir;
  const Sleeper first, second;
  ResourceLedger ledger(dir / "l");
  const auto reservation = [&](const Owner& owner) {
    return Reservation{owner, {4, 0, 0}, ResourceLedger::Page(ledger, {}).next_reservation()};
  };
  const Reservation one = reservation(first.owner());
  ResourceLedger::Page(ledger, {}).write({}, one);
  const Reservation mine = reservation(this_process());
  ResourceLedger::Page(ledger, {}).write({}, mine);
  const Reservation two = reservation(second.owner());
  ResourceLedger::Page(ledger, {}).write({}, two);
  const ResourceLedger::Page page(ledger, {});
  REQUIRE(page.reservations_before(mine).size() == 1);
  CHECK(page.reservations_before(mine)[0].owner == first.owner());
  CHECK(page.reservations_before(std::nullopt).size() == 2);
}

TEST_CASE("ledger: one that is damaged or of before a restart is empty") {
  const TempDir dir;
  const Sleeper shim;
  write_rows(dir / "l", {row_of(shim.owner(), 2)});
  std::string text = read_file(dir / "l/ledger.json");
  const std::string how = GENERATE(as<std::string>{}, "cut", "other", "boot", "types");
  INFO(how);
  if (how == "cut") {
    text.resize(text.size() / 2);
  }
  if (how == "other") {
    text = "[1, 2]";
  }
  if (how == "boot") {
    text.replace(text.find(trivet::boot_id()), 4, "ffff");
  }
  if (how == "types") {
    text.replace(text.find("\"allocations\":["), 15, "\"allocations\":[1,");
  }
  dir.write("l/ledger.json", text);
  ResourceLedger ledger(dir / "l");
  CHECK(ResourceLedger::Page(ledger, {}).others().empty());
  ResourceLedger::Page(ledger, {}).write({row_of(shim.owner(), 2)}, std::nullopt);
  CHECK(ResourceLedger::Page(ledger, {}).others().size() == 1);
}

TEST_CASE("ledger: a directory that others could have made is refused") {
  const TempDir dir;
  const std::string how = GENERATE(as<std::string>{}, "open to all", "a link");
  INFO(how);
  if (how == "open to all") {
    fs::create_directory(dir / "l");
    fs::permissions(dir / "l", fs::perms::all);
  }
  if (how == "a link") {
    fs::create_directory(dir / "elsewhere");
    fs::create_directory_symlink(dir / "elsewhere", dir / "l");
  }
  CHECK_THROWS_WITH(ResourceLedger(dir / "l"), Contains("other users can access it"));
}

TEST_CASE("ledger: a write wakes waiting supervisors") {
  const TempDir dir;
  const Sleeper shim;
  ResourceLedger waits(dir / "l");
  ResourceLedger::Page(waits, {}).write({}, Reservation{this_process(), {1, 0, 0}, 1});
  const auto has_news = [&] {
    pollfd one{waits.news_fd(), POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
  };
  CHECK(has_news());
  waits.take_news();
  CHECK_FALSE(has_news());
  write_rows(dir / "l", {row_of(shim.owner(), 2)});
  CHECK(has_news());
}

TEST_CASE("capacity: running jobs use their share") {
  Capacity capacity(kMachine, kLimits,
                    {{.owner = {}, .taken = {2, 600, 1}, .cpus = {0, 2}, .gpus = {"x"}}}, {}, {});
  CHECK(capacity.ask({1, 400, 1}, 1));
  const Allocation allocation = capacity.take({1, 400, 1});
  CHECK(allocation.cpus == std::vector<int>{1});
  CHECK(allocation.gpus == std::vector<std::string>{"y"});
  CHECK_FALSE(capacity.ask({1, 1, 0}, 1));
  CHECK_FALSE(capacity.waits_for_others());
}

TEST_CASE("capacity: a job that does not fit is not overtaken by one that needs the same") {
  Capacity capacity(kMachine, kLimits,
                    {{.owner = {}, .taken = {1, 0, 2}, .cpus = {0}, .gpus = {"x", "y"}}}, {}, {});
  CHECK_FALSE(capacity.ask({2, 0, 1}, 1));
  // One core and no GPU are left.
  CHECK(capacity.ask({1, 0, 0}, 1));
  capacity.take({1, 0, 0});
  CHECK_FALSE(capacity.ask({1, 0, 0}, 1));
  CHECK(capacity.is_full());
}

TEST_CASE("capacity: experiments respect their own limits and the others' use") {
  const Limits limits{{2, 1000, 2}, 2, true};
  SECTION("own limit") {
    Capacity capacity(kMachine, limits,
                      {{.owner = {}, .taken = {2, 0, 0}, .cpus = {0, 1}, .gpus = {}}}, {}, {});
    CHECK_FALSE(capacity.ask({1, 0, 0}, 1));
    CHECK_FALSE(capacity.waits_for_others());
  }
  SECTION("others") {
    Capacity capacity(kMachine, limits, {},
                      {{.owner = {}, .taken = {3, 0, 0}, .cpus = {0, 1, 2}, .gpus = {}}}, {});
    CHECK_FALSE(capacity.ask({2, 0, 0}, 1));
    REQUIRE(capacity.waits_for_others());
    CHECK(capacity.waits_for_others()->cores == 2);
  }
  SECTION("others that have all") {
    Capacity capacity(kMachine, limits, {},
                      {{.owner = {}, .taken = {4, 0, 0}, .cpus = {}, .gpus = {}}}, {});
    // The first must ask, or its wait is unknown.
    CHECK_FALSE(capacity.is_full());
    CHECK_FALSE(capacity.ask({1, 0, 0}, 1));
    CHECK(capacity.waits_for_others());
    CHECK(capacity.is_full());
  }
  SECTION("others that wait longer") {
    Capacity capacity(kMachine, limits, {}, {}, {{.owner = {}, .wanted = {4, 0, 0}, .number = 1}});
    CHECK_FALSE(capacity.ask({1, 0, 0}, 1));
  }
  SECTION("number of jobs") {
    Capacity capacity(kMachine, limits, {}, {}, {});
    CHECK_FALSE(capacity.ask({2, 0, 0}, 3));
    CHECK_FALSE(capacity.waits_for_others());
  }
}

TEST_CASE("capacity: cores are pinned only if there are enough for all") {
  const Allocation unbound{.owner = {}, .taken = {2, 0, 0}, .cpus = {}, .gpus = {}};
  Capacity capacity(kMachine, kLimits, {}, {unbound}, {});
  CHECK(capacity.take({2, 0, 0}).cpus == std::vector<int>{0, 1});
  CHECK(capacity.take({1, 0, 0}).cpus.empty());
  const Limits shared{{8, 1000, 2}, 100, false};
  Capacity more(kMachine, shared, {}, {}, {});
  CHECK(more.ask({8, 0, 0}, 1));
  CHECK(more.take({8, 0, 0}).cpus.empty());
}

}  // namespace local_ledger_test

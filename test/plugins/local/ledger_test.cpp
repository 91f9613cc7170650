// SPDX-License-Identifier: Apache-2.0
// The ledger that experiments on one machine share, and the room that it leaves for a job.
#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <string>

#include <poll.h>
#include <unistd.h>

#include "local/ledger.h"
#include "local/room.h"
#include "support/jobs.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/os/process.h"

namespace local_ledger_test {

using namespace trivet::local;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;
using Row = trivet::local::Row;

namespace {

Row row_of(const Owner& owner, std::int64_t cores) {
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

void write_rows(const fs::path& directory, const std::vector<Row>& rows,
                const std::optional<Ticket>& ticket = std::nullopt) {
  Ledger ledger(directory);
  Ledger::Page(ledger, rows).write(rows, ticket);
}

const Machine kMachine{{0, 1, 2, 3}, 1000, {"x", "y"}};
const Limits kLimits{kMachine.resources(), 100, true};

}  // namespace

TEST_CASE("ledger: a row counts for others as long as its process lives") {
  const TempDir dir;
  Sleeper keeper;
  write_rows(dir / "l", {row_of(keeper.owner(), 2)});
  Ledger ledger(dir / "l");
  {
    const Ledger::Page page(ledger, {});
    REQUIRE(page.others().size() == 1);
    const Row& row = page.others()[0];
    CHECK(row.owner == keeper.owner());
    CHECK(row.taken.cores == 2);
    CHECK(row.taken.memory_bytes == 100);
    CHECK(row.taken.gpus == 1);
    CHECK(row.cpus == std::vector<int>{3, 5});
    CHECK(row.gpus == std::vector<std::string>{"a"});
  }
  CHECK(Ledger::Page(ledger, {row_of(keeper.owner(), 2)}).others().empty());
  keeper.end();
  CHECK(Ledger::Page(ledger, {}).others().empty());
}

TEST_CASE("ledger: a process id that is used again is another process") {
  const TempDir dir;
  const Sleeper keeper;
  write_rows(dir / "l", {row_of({keeper.owner().pid, keeper.owner().start_ticks + 1}, 2)});
  Ledger ledger(dir / "l");
  CHECK(Ledger::Page(ledger, {}).others().empty());
}

TEST_CASE("ledger: rows of others stay when somebody writes, own ones are what is written") {
  const TempDir dir;
  const Sleeper one, two;
  write_rows(dir / "l", {row_of(one.owner(), 1)});
  write_rows(dir / "l", {row_of(two.owner(), 2)});
  Ledger ledger(dir / "l");
  CHECK(Ledger::Page(ledger, {}).others().size() == 2);
  Ledger::Page(ledger, {row_of(two.owner(), 2)}).write({}, std::nullopt);
  const Ledger::Page page(ledger, {});
  REQUIRE(page.others().size() == 1);
  CHECK(page.others()[0].owner == one.owner());
}

TEST_CASE("ledger: those that wait are served in their order") {
  const TempDir dir;
  const Sleeper first, second;
  Ledger ledger(dir / "l");
  const auto ticket = [&](const Owner& owner) {
    return Ticket{owner, {4, 0, 0}, Ledger::Page(ledger, {}).next_ticket()};
  };
  const Ticket one = ticket(first.owner());
  Ledger::Page(ledger, {}).write({}, one);
  const Ticket mine = ticket(this_process());
  Ledger::Page(ledger, {}).write({}, mine);
  const Ticket two = ticket(second.owner());
  Ledger::Page(ledger, {}).write({}, two);
  const Ledger::Page page(ledger, {});
  REQUIRE(page.tickets_before(mine).size() == 1);
  CHECK(page.tickets_before(mine)[0].owner == first.owner());
  CHECK(page.tickets_before(std::nullopt).size() == 2);
}

TEST_CASE("ledger: one that is damaged or of before a restart is empty") {
  const TempDir dir;
  const Sleeper keeper;
  write_rows(dir / "l", {row_of(keeper.owner(), 2)});
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
    text.replace(text.find("\"rows\":["), 8, "\"rows\":[1,");
  }
  dir.write("l/ledger.json", text);
  Ledger ledger(dir / "l");
  CHECK(Ledger::Page(ledger, {}).others().empty());
  Ledger::Page(ledger, {}).write({row_of(keeper.owner(), 2)}, std::nullopt);
  CHECK(Ledger::Page(ledger, {}).others().size() == 1);
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
  CHECK_THROWS_WITH(Ledger(dir / "l"), Contains("not a directory of this user alone"));
}

TEST_CASE("ledger: writing wakes those who wait") {
  const TempDir dir;
  const Sleeper keeper;
  Ledger waits(dir / "l");
  Ledger::Page(waits, {}).write({}, Ticket{this_process(), {1, 0, 0}, 1});
  const auto has_news = [&] {
    pollfd one{waits.news_fd(), POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
  };
  CHECK(has_news());
  waits.take_news();
  CHECK_FALSE(has_news());
  write_rows(dir / "l", {row_of(keeper.owner(), 2)});
  CHECK(has_news());
}

TEST_CASE("room: what runs takes its part") {
  Room room(kMachine, kLimits, {{.owner = {}, .taken = {2, 600, 1}, .cpus = {0, 2}, .gpus = {"x"}}},
            {}, {});
  CHECK(room.ask({1, 400, 1}, 1));
  const Row row = room.take({1, 400, 1});
  CHECK(row.cpus == std::vector<int>{1});
  CHECK(row.gpus == std::vector<std::string>{"y"});
  CHECK_FALSE(room.ask({1, 1, 0}, 1));
  CHECK_FALSE(room.waits_for_others());
}

TEST_CASE("room: a job that finds none is not overtaken by one that takes what it waits for") {
  Room room(kMachine, kLimits, {{.owner = {}, .taken = {1, 0, 2}, .cpus = {0}, .gpus = {"x", "y"}}},
            {}, {});
  CHECK_FALSE(room.ask({2, 0, 1}, 1));
  // One core is left beside those two, and no GPU.
  CHECK(room.ask({1, 0, 0}, 1));
  room.take({1, 0, 0});
  CHECK_FALSE(room.ask({1, 0, 0}, 1));
  CHECK(room.is_full());
}

TEST_CASE("room: experiments keep to their own limits and to what others leave") {
  const Limits limits{{2, 1000, 2}, 2, true};
  SECTION("own limit") {
    Room room(kMachine, limits, {{.owner = {}, .taken = {2, 0, 0}, .cpus = {0, 1}, .gpus = {}}}, {},
              {});
    CHECK_FALSE(room.ask({1, 0, 0}, 1));
    CHECK_FALSE(room.waits_for_others());
  }
  SECTION("others") {
    Room room(kMachine, limits, {},
              {{.owner = {}, .taken = {3, 0, 0}, .cpus = {0, 1, 2}, .gpus = {}}}, {});
    CHECK_FALSE(room.ask({2, 0, 0}, 1));
    REQUIRE(room.waits_for_others());
    CHECK(room.waits_for_others()->cores == 2);
  }
  SECTION("others that have all") {
    Room room(kMachine, limits, {}, {{.owner = {}, .taken = {4, 0, 0}, .cpus = {}, .gpus = {}}},
              {});
    // The first must ask, or nobody knows that it waits.
    CHECK_FALSE(room.is_full());
    CHECK_FALSE(room.ask({1, 0, 0}, 1));
    CHECK(room.waits_for_others());
    CHECK(room.is_full());
  }
  SECTION("others that wait longer") {
    Room room(kMachine, limits, {}, {}, {{.owner = {}, .wanted = {4, 0, 0}, .number = 1}});
    CHECK_FALSE(room.ask({1, 0, 0}, 1));
  }
  SECTION("number of jobs") {
    Room room(kMachine, limits, {}, {}, {});
    CHECK_FALSE(room.ask({2, 0, 0}, 3));
    CHECK_FALSE(room.waits_for_others());
  }
}

TEST_CASE("room: cores are bound only where there are enough for all") {
  const Row unbound{.owner = {}, .taken = {2, 0, 0}, .cpus = {}, .gpus = {}};
  Room room(kMachine, kLimits, {}, {unbound}, {});
  CHECK(room.take({2, 0, 0}).cpus == std::vector<int>{0, 1});
  CHECK(room.take({1, 0, 0}).cpus.empty());
  const Limits shared{{8, 1000, 2}, 100, false};
  Room more(kMachine, shared, {}, {}, {});
  CHECK(more.ask({8, 0, 0}, 1));
  CHECK(more.take({8, 0, 0}).cpus.empty());
}

}  // namespace local_ledger_test

// SPDX-License-Identifier: Apache-2.0
#include "resource_ledger.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/os/process.h"

namespace trivet::local {
namespace {

namespace fs = std::filesystem;

Value to_value(const Owner& owner) {
  return Value::table({{"pid", owner.pid}, {"start_ticks", owner.start_ticks}});
}

Value to_value(const Resources& resources) {
  return Value::table({{"cores", resources.cores},
                       {"memory_bytes", resources.memory_bytes},
                       {"gpus", resources.gpus}});
}

Value to_value(const Allocation& allocation) {
  Value cpus = Value::array_of(allocation.cpus);
  Value gpus = Value::array_of(allocation.gpus);
  return Value::table({{"owner", to_value(allocation.owner)},
                       {"taken", to_value(allocation.taken)},
                       {"cpus", cpus},
                       {"gpus", gpus}});
}

Value to_value(const Reservation& reservation) {
  return Value::table({{"owner", to_value(reservation.owner)},
                       {"wanted", to_value(reservation.wanted)},
                       {"number", reservation.number}});
}

const Value& member(const Value& table, std::string_view name) {
  return table.at(name, "the ledger");
}

Owner owner_from(const Value& table) {
  return {static_cast<pid_t>(member(table, "pid").as_integer()),
          member(table, "start_ticks").as_integer()};
}

Resources resources_from(const Value& table) {
  return {member(table, "cores").as_integer(), member(table, "memory_bytes").as_integer(),
          member(table, "gpus").as_integer()};
}

Allocation row_from(const Value& table) {
  Allocation allocation{.owner = owner_from(member(table, "owner")),
                        .taken = resources_from(member(table, "taken"))};
  for (const Value& cpu : member(table, "cpus").items()) {
    allocation.cpus.push_back(static_cast<int>(cpu.as_integer()));
  }
  for (const Value& gpu : member(table, "gpus").items()) allocation.gpus.push_back(gpu.as_string());
  return allocation;
}

Reservation reservation_from(const Value& table) {
  return {owner_from(member(table, "owner")), resources_from(member(table, "wanted")),
          member(table, "number").as_integer()};
}

bool is_alive(const Owner& owner) {
  return owner.start_ticks != 0 && start_ticks(owner.pid) == owner.start_ticks;
}

bool is_own_directory(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

Owner this_process() {
  return {::getpid(), start_ticks(::getpid())};
}

fs::path ledger_directory() {
  const std::string user = std::to_string(::geteuid());
  if (const char* named = std::getenv("XDG_RUNTIME_DIR"); named != nullptr && *named == '/') {
    return fs::path(named) / "trivet";
  }
  // A cron job lacks XDG_RUNTIME_DIR, but must use the same ledger as the user's sessions.
  const fs::path session = fs::path("/run/user") / user;
  if (is_own_directory(session)) return session / "trivet";
  return "/tmp/trivet-" + user;
}

ResourceLedger::ResourceLedger(fs::path directory)
    : path_(directory / "ledger.json"), self_(this_process()) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    throw_system_error("make directory", directory, errno);
  }
  if (!is_own_directory(directory)) {
    throw RunError("cannot use " + directory.string() + ": other users can access it",
                   {.hint = "remove it, or set XDG_RUNTIME_DIR to a private directory"});
  }
  // Without it, waiting takes up to a second longer.
  news_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (news_) ::inotify_add_watch(news_.get(), directory.c_str(), IN_MODIFY);
}

void ResourceLedger::take_news() {
  std::array<char, 4096> events;
  while (news_ && ::read(news_.get(), events.data(), events.size()) > 0) {
  }
}

ResourceLedger::Page::Page(ResourceLedger& ledger, const std::vector<Allocation>& own)
    : ledger_(ledger), file_(open_file(ledger.path_, O_RDWR | O_CREAT | O_NOFOLLOW, 0600)) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
  lock_file(file_, ledger.path_);
  try {
    before_ = read_up_to(file_, kMostBytes, ledger.path_);
    const Value book = value_from_json(before_, ledger.path_.string());
    // After a reboot, process ids name other processes.
    if (member(book, "boot_id").as_string() != boot_id()) return;
    for (const Value& value : member(book, "allocations").items()) {
      const Allocation allocation = row_from(value);
      const bool is_own = std::any_of(own.begin(), own.end(), [&](const Allocation& mine) {
        return mine.owner == allocation.owner;
      });
      if (!is_own && is_alive(allocation.owner)) others_.push_back(allocation);
    }
    for (const Value& value : member(book, "reservations").items()) {
      const Reservation reservation = reservation_from(value);
      if (reservation.owner != ledger.self_ && is_alive(reservation.owner)) {
        reservations_.push_back(reservation);
      }
    }
  } catch (const Error&) {
    // New, or half written by a killed process: the supervisors fill it again.
    others_.clear();
    reservations_.clear();
  }
}

ResourceLedger::Page::~Page() {
  // Not by closing alone: a shim that is just being made may still have a copy.
  ::flock(file_.get(), LOCK_UN);
}

std::vector<Reservation> ResourceLedger::Page::reservations_before(
    const std::optional<Reservation>& own) const {
  std::vector<Reservation> earlier;
  for (const Reservation& reservation : reservations_) {
    if (!own || reservation.number < own->number) earlier.push_back(reservation);
  }
  return earlier;
}

std::int64_t ResourceLedger::Page::next_reservation() const {
  std::int64_t number = 0;
  for (const Reservation& reservation : reservations_) {
    number = std::max(number, reservation.number);
  }
  return number + 1;
}

void ResourceLedger::Page::write(const std::vector<Allocation>& own,
                                 const std::optional<Reservation>& reservation) {
  Value allocations = Value::array();
  for (const auto* list : {&std::as_const(others_), &own}) {
    for (const Allocation& allocation : *list) allocations.push_back(to_value(allocation));
  }
  Value reservations = Value::array();
  for (const Reservation& other : reservations_) reservations.push_back(to_value(other));
  if (reservation) reservations.push_back(to_value(*reservation));
  const std::string text =
      to_json(Value::table(
          {{"boot_id", boot_id()}, {"allocations", allocations}, {"reservations", reservations}})) +
      "\n";
  if (text == before_) return;
  const auto size = static_cast<ssize_t>(text.size());
  if (::pwrite(file_.get(), text.data(), text.size(), 0) != size ||
      ::ftruncate(file_.get(), size) != 0) {
    throw_system_error("write", ledger_.path_, errno);
  }
  before_ = text;
}

}  // namespace trivet::local

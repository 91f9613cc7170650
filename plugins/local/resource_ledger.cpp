// SPDX-License-Identifier: Apache-2.0
#include "resource_ledger.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/process.h"

namespace trivet::local {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* action, const fs::path& path) {
  throw RunError(std::string("cannot ") + action + " " + path.string() + ": " +
                 std::generic_category().message(errno));
}

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
  const Value* found = table.find(name);
  if (found == nullptr) throw RunError("the ledger lacks '" + std::string(name) + "'");
  return *found;
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

std::string text_of(int file, const fs::path& path) {
  std::string text;
  std::array<char, 4096> part;
  while (true) {
    const ssize_t size = ::read(file, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail("read", path);
    if (size == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
    if (text.size() > std::size_t{16} << 20) return {};
  }
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
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) fail("make directory", directory);
  if (!is_own_directory(directory)) {
    throw RunError("cannot use " + directory.string() + ": other users can access it",
                   {.hint = "remove it, or set XDG_RUNTIME_DIR to a private directory"});
  }
  // Without inotify, a waiting supervisor notices changes up to a second later.
  news_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (news_ >= 0) ::inotify_add_watch(news_, directory.c_str(), IN_MODIFY);
}

ResourceLedger::~ResourceLedger() {
  if (news_ >= 0) ::close(news_);
}

void ResourceLedger::take_news() {
  std::array<char, 4096> events;
  while (news_ >= 0 && ::read(news_, events.data(), events.size()) > 0) {
  }
}

ResourceLedger::Page::Page(ResourceLedger& ledger, const std::vector<Allocation>& own)
    : ledger_(ledger) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  file_ = ::open(ledger.path_.c_str(), kFlags, 0600);
  if (file_ < 0) fail("open", ledger.path_);
  while (::flock(file_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    ::close(file_);
    fail("lock", ledger.path_);
  }
  try {
    before_ = text_of(file_, ledger.path_);
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
      if (reservation.owner != ledger.self_ && is_alive(reservation.owner))
        reservations_.push_back(reservation);
    }
  } catch (const Error&) {
    // New, or half written by a killed process: the supervisors fill it again.
    others_.clear();
    reservations_.clear();
  }
}

ResourceLedger::Page::~Page() {
  // Unlocks explicitly: a shim that is being started may still hold a copy of the descriptor.
  ::flock(file_, LOCK_UN);
  ::close(file_);
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
  for (const Reservation& reservation : reservations_)
    number = std::max(number, reservation.number);
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
  if (::pwrite(file_, text.data(), text.size(), 0) != size || ::ftruncate(file_, size) != 0) {
    fail("write", ledger_.path_);
  }
  before_ = text;
}

}  // namespace trivet::local

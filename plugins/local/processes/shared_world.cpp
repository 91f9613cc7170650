// SPDX-License-Identifier: Apache-2.0
#include "local/processes/shared_world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "trivet/error.h"
#include "trivet/os/environment.h"

namespace trivet::local {
namespace {

// The number that an environment variable holds, if it is one of at least 0.
[[noreturn]] void fail(const std::string& what) {
  throw RunError(
      "the processes of this run cannot meet in shared memory: " + what,
      {.hint = "TRIVET_RANK, TRIVET_PROCESSES and TRIVET_WORLD_FD are set by the program "
               "that starts them"});
}

std::string system_error() {
  return std::strerror(errno);
}

// The lock of a rank is a byte of the file that its process holds as long as it lives.
struct flock lock_of(int rank, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

}  // namespace

struct SharedWorld::Member {
  std::atomic<std::int32_t> process;  // 0: has not come yet
  std::atomic<std::int32_t> left;     // 1: has ended its part
};

struct SharedWorld::Header {
  std::atomic<std::int32_t> aborted;  // 1: nobody may continue
  std::array<Member, kMaxSize> members;
};

SharedWorld::Rank SharedWorld::launched() {
  const auto rank = environment_number("TRIVET_RANK");
  const auto size = environment_number("TRIVET_PROCESSES");
  const auto file = environment_number("TRIVET_WORLD_FD");
  if (!rank || !size || !file || *rank >= *size || *size > kMaxSize) return {};
  return {*rank, *size};
}

SharedWorld::SharedWorld() : self_(launched()) {
  if (self_.size == 0) fail("the environment does not say which of how many processes this is");
  const std::string path =
      "/proc/self/fd/" + std::to_string(*environment_number("TRIVET_WORLD_FD"));
  file_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file_) fail("cannot open " + path + ": " + system_error());
  const auto size = static_cast<std::uint64_t>(self_.size);
  bytes_ = sizeof(Header) + alignof(ByteRing) + size * size * sizeof(ByteRing);
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) {
    fail("cannot make " + path + " larger: " + system_error());
  }
  memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory_ == MAP_FAILED) fail("cannot map " + path + ": " + system_error());
  struct flock lock = lock_of(rank(), F_WRLCK);
  if (::fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) {
    fail("another process has rank " + std::to_string(rank()));
  }
  header().members[static_cast<std::size_t>(rank())].process = ::getpid();
  for (int other = 0; other < self_.size; ++other) {
    const Member& member = header().members[static_cast<std::size_t>(other)];
    while (member.process == 0 && header().aborted == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  if (header().aborted != 0) fail("another process has ended the run");
}

SharedWorld::~SharedWorld() {
  header().members[static_cast<std::size_t>(rank())].left = 1;
  ::munmap(memory_, bytes_);
}

SharedWorld::Header& SharedWorld::header() const {
  return *static_cast<Header*>(memory_);
}

ByteRing& SharedWorld::ring(int from, int to) {
  constexpr std::uint64_t kBegin =
      (sizeof(Header) + alignof(ByteRing) - 1) / alignof(ByteRing) * alignof(ByteRing);
  const auto index = static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(self_.size) +
                     static_cast<std::uint64_t>(to);
  return *reinterpret_cast<ByteRing*>(static_cast<std::byte*>(memory_) + kBegin +
                                      index * sizeof(ByteRing));
}

bool SharedWorld::is_there(int rank) const {
  if (rank == self_.rank) return true;
  struct flock lock = lock_of(rank, F_WRLCK);
  return ::fcntl(file_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool SharedWorld::has_left(int rank) const {
  return header().members[static_cast<std::size_t>(rank)].left != 0;
}

void SharedWorld::abort(int code) {
  header().aborted = 1;
  for (int other = 0; other < self_.size; ++other) {
    // A process number without its lock may be of a stranger by now.
    if (other == rank() || !is_there(other)) continue;
    const std::int32_t process = header().members[static_cast<std::size_t>(other)].process;
    if (process > 0) ::kill(process, SIGKILL);
  }
  ::_exit(code);
}

}  // namespace trivet::local

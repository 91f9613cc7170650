// SPDX-License-Identifier: Apache-2.0
// slow_files.so: preloaded into a program (LD_PRELOAD), it simulates a slow and failing disk for
// files below a directory: every call that changes them is delayed, a write may be short, and some
// calls fail as on a full or broken disk. It can also kill the program at one of these calls or
// when it opens a file. Settings, all from the environment:
//
//   SLOW_FILES_BELOW   the directory, or how the paths of the files begin; absolute, without links
//   SLOW_FILES_SEED    which calls are slow, short or fail: a number
//   SLOW_FILES_DELAY   microseconds that a call takes at most
//   SLOW_FILES_FAILS   one call of so many fails; 0: none
//   SLOW_FILES_ROOM    bytes that can be written before the disk is full; negative: no end
//   SLOW_FILES_READ_ERROR  the errno with which openings for reading fail; 0: none does
//   SLOW_FILES_READ_FAILS  so many of them, the first ones
//   SLOW_FILES_KILL    the so-many-th call that is seen kills the program; 0: none
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

std::uint64_t number_of(const char* name) {
  const char* const text = ::getenv(name);
  return text == nullptr ? 0 : ::strtoull(text, nullptr, 10);
}

struct Settings {
  std::string below = ::getenv("SLOW_FILES_BELOW") == nullptr ? "" : ::getenv("SLOW_FILES_BELOW");
  std::uint64_t seed = number_of("SLOW_FILES_SEED");
  std::uint64_t delay = number_of("SLOW_FILES_DELAY");
  std::uint64_t fails = number_of("SLOW_FILES_FAILS");
  std::uint64_t kill = number_of("SLOW_FILES_KILL");
  std::uint64_t read_error = number_of("SLOW_FILES_READ_ERROR");
  std::uint64_t read_fails = number_of("SLOW_FILES_READ_FAILS");
};

// The space left; negative if unlimited.
std::atomic<std::int64_t>& room() {
  static std::atomic<std::int64_t> bytes =
      ::getenv("SLOW_FILES_ROOM") == nullptr ? -1 : ::atoll(::getenv("SLOW_FILES_ROOM"));
  return bytes;
}

// How many of `size` bytes still fit.
std::size_t take_room(std::size_t size) {
  std::int64_t left = room().load();
  while (left >= 0) {
    const std::int64_t taken = std::min(left, static_cast<std::int64_t>(size));
    if (room().compare_exchange_weak(left, left - taken)) return static_cast<std::size_t>(taken);
  }
  return size;
}

const Settings& settings() {
  static const Settings kSettings;
  return kSettings;
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

// SplitMix64 (Steele et al. 2014) of the number of the call.
std::uint64_t draw() {
  static std::atomic<std::uint64_t> calls = 0;
  std::uint64_t z = settings().seed * 0x9e3779b97f4a7c15u + ++calls * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool is_below(const std::string& path) {
  const std::string& below = settings().below;
  return !below.empty() && path.compare(0, below.size(), below) == 0;
}

bool is_below(int directory, const char* path) {
  if (path[0] == '/') return is_below(path);
  char link[64], target[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  const ssize_t size = ::readlink(link, target, sizeof target);
  return size > 0 && is_below(std::string(target, static_cast<std::size_t>(size)));
}

bool is_below(int descriptor) {
  return is_below(descriptor, "");
}

void count_call() {
  static std::atomic<std::uint64_t> calls = 0;
  if (++calls == settings().kill) ::raise(SIGKILL);
}

// Sleeps; returns whether the call shall fail.
bool fails() {
  count_call();
  const Settings& set = settings();
  if (set.delay > 0) {
    const auto nanoseconds = static_cast<long>(draw() % (set.delay * 1000));
    const timespec pause = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    ::nanosleep(&pause, nullptr);
  }
  return set.fails > 0 && draw() % set.fails == 0;
}

bool fails_to_read() {
  static std::atomic<std::uint64_t> openings = 0;
  return settings().read_error != 0 && openings++ < settings().read_fails;
}

int failed(int reason) {
  errno = reason;
  return -1;
}

// How many bytes of a write shall be written; 0: it shall fail. Any write may be short.
std::size_t written_of(std::size_t size) {
  if (fails()) return 0;
  const std::uint64_t choice = draw();
  return take_room(choice % 4 == 0 ? 1 + choice / 4 % size : size);
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t size) {
  static const auto real = next<decltype(::write)>("write");
  if (size == 0 || !is_below(descriptor)) return real(descriptor, data, size);
  size = written_of(size);
  return size == 0 ? failed(ENOSPC) : real(descriptor, data, size);
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t position) {
  static const auto real = next<decltype(::pwrite)>("pwrite64");
  if (size == 0 || !is_below(descriptor)) return real(descriptor, data, size, position);
  size = written_of(size);
  return size == 0 ? failed(ENOSPC) : real(descriptor, data, size, position);
}

int open(const char* path, int flags, ...) {
  static const auto real = next<int(const char*, int, ...)>("open64");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!is_below(path)) return real(path, flags, mode);
  count_call();
  if ((flags & O_ACCMODE) == O_RDONLY && fails_to_read()) {
    return failed(static_cast<int>(settings().read_error));
  }
  return real(path, flags, mode);
}

int ftruncate(int descriptor, off_t size) {
  static const auto real = next<decltype(::ftruncate)>("ftruncate64");
  if (is_below(descriptor)) count_call();
  return real(descriptor, size);
}

int fsync(int descriptor) {
  static const auto real = next<decltype(::fsync)>("fsync");
  if (is_below(descriptor) && fails()) return failed(EIO);
  return real(descriptor);
}

int fdatasync(int descriptor) {
  static const auto real = next<decltype(::fdatasync)>("fdatasync");
  if (is_below(descriptor) && fails()) return failed(EIO);
  return real(descriptor);
}

int rename(const char* from, const char* to) {
  static const auto real = next<decltype(::rename)>("rename");
  if (is_below(to) && fails()) return failed(EIO);
  return real(from, to);
}

int link(const char* from, const char* to) {
  static const auto real = next<decltype(::link)>("link");
  if (is_below(to) && fails()) return failed(EIO);
  return real(from, to);
}

int mkdir(const char* path, mode_t mode) {
  static const auto real = next<decltype(::mkdir)>("mkdir");
  if (is_below(path) && fails()) return failed(ENOSPC);
  return real(path, mode);
}

int unlinkat(int directory, const char* path, int flags) {
  static const auto real = next<decltype(::unlinkat)>("unlinkat");
  if (is_below(directory, path) && fails()) return failed(EIO);
  return real(directory, path, flags);
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
// start_attempt() and run_attempt(): the directory of an attempt, and a shim for it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "launch/attempt_files.h"
#include "launch/shim.h"
#include "trivet/launch/attempt.h"

namespace trivet::launch {
namespace {

namespace fs = std::filesystem;

// Above the standard files, which the job's replace.
UniqueFd open_at(int directory, const fs::path& path, int flags) {
  UniqueFd file(::openat(directory, path.c_str(), flags | O_CLOEXEC, 0666));
  if (file && file.get() <= 2) file = UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
  return file;
}

void make_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return;
  if (errno != ENOENT || !path.has_parent_path() || path == path.parent_path()) {
    throw_errno("make directory", path, errno);
  }
  make_directory(path.parent_path());
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    throw_errno("make directory", path, errno);
  }
}

// An attempt that is this process's to run: its files are open and its lock is taken.
class AttemptFiles {
 public:
  AttemptFiles(const Job& job, std::int64_t attempt) {
    const fs::path path = attempt_directory(job, attempt);
    make_directory(path);
    directory_ = open_in(AT_FDCWD, path, path, O_RDONLY | O_DIRECTORY);
    lock_ = open_in(directory_.get(), path, "lock", O_RDWR | O_CREAT);
    // Meant for a start that did not come about. Once the lock is taken, requests are for this one.
    if (!is_locked(path)) ::unlinkat(directory_.get(), "end.json", 0);
    if (!take_lock(lock_.get())) {
      throw RunError("attempt " + path.string() + " runs already");
    }
    if (read_start(path) || read_end(path)) {
      throw RunError("attempt " + path.string() + " was used before");
    }
    out_ = open_in(directory_.get(), path, "stdout", O_WRONLY | O_CREAT | O_APPEND);
    errors_ = open_in(directory_.get(), path, "stderr", O_WRONLY | O_CREAT | O_APPEND);
  }

  JobFiles get() const { return {directory_.get(), lock_.get(), out_.get(), errors_.get()}; }

 private:
  static UniqueFd open_in(int directory, const fs::path& location, const fs::path& name,
                          int flags) {
    UniqueFd file = open_at(directory, name, flags);
    if (!file) throw_errno("open", location / name, errno);
    return file;
  }

  UniqueFd directory_, lock_, out_, errors_;
};

// New files are for the owner only, unless the job is shared; processes inherit this.
class PrivateFiles {
 public:
  explicit PrivateFiles(const Job& job) : before_(::umask(077)) {
    if (job.shared) ::umask(before_);
  }
  PrivateFiles(const PrivateFiles&) = delete;
  PrivateFiles& operator=(const PrivateFiles&) = delete;
  ~PrivateFiles() { ::umask(before_); }

 private:
  mode_t before_;
};

class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Ends of children are waited for, which does not go where SIGCHLD is ignored.
class DefaultChildSignal {
 public:
  DefaultChildSignal() {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &standard, &before_);
  }
  DefaultChildSignal(const DefaultChildSignal&) = delete;
  DefaultChildSignal& operator=(const DefaultChildSignal&) = delete;
  ~DefaultChildSignal() { ::sigaction(SIGCHLD, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

void close_between(int first, int last) {
  if (first > last ||
      ::close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0) {
    return;
  }
  const int most = std::min(last, static_cast<int>(::sysconf(_SC_OPEN_MAX)));
  for (int file = first; file <= most; ++file) ::close(file);
}

// Everything of the parent's goes: its locks and pipes must not live on in the shim.
void keep_only(const JobFiles& files) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {0, 1, 2}) ::dup2(null, standard);
  std::array kept = {files.directory, files.lock, files.out, files.errors};
  std::sort(kept.begin(), kept.end());
  int next = 3;
  for (const int file : kept) {
    close_between(next, file - 1);
    next = file + 1;
  }
  close_between(next, std::numeric_limits<int>::max());
}

[[noreturn]] void be_shim(const Job& job, std::int64_t attempt, const AttemptOptions& options,
                          const JobFiles& files) {
  try {
    ::setsid();
    const DefaultChildSignal default_child_signal;
    keep_only(files);
    // The caller's directory must not stay in use because of this process.
    (void)!::chdir("/");
    Shim(job, attempt, options, files).run();
  } catch (const std::exception&) {
    // The lock is free now, so that the attempt counts as lost, or as never started.
  }
  ::_exit(0);
}

}  // namespace

pid_t start_attempt(const Job& job, std::int64_t attempt, const AttemptOptions& options) {
  const PrivateFiles private_files(job);
  const AttemptFiles files(job, attempt);
  // The parent's handlers must never run in the shim.
  const BlockedSignals blocked;
  const pid_t shim = ::fork();
  if (shim < 0) throw_errno("make a process for", attempt_directory(job, attempt), errno);
  if (shim == 0) be_shim(job, attempt, options, files.get());
  return shim;
}

int run_attempt(const Job& job, std::int64_t attempt, const AttemptOptions& options) {
  const PrivateFiles private_files(job);
  const AttemptFiles files(job, attempt);
  const BlockedSignals blocked;
  const DefaultChildSignal default_child_signal;
  const EndRecord end = Shim(job, attempt, options, files.get()).run();
  return end.exit_code ? *end.exit_code : 128 + end.signal;
}

}  // namespace trivet::launch

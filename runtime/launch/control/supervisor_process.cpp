// SPDX-License-Identifier: Apache-2.0
#include "launch/control/supervisor_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/process_info.h"
#include "launch/control/launched_experiment.h"
#include "launch/store/experiment_store.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

extern char** environ;

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr double kHeartbeatSeconds = 5;
// The descriptor that a new supervisor gets besides the standard three.
constexpr int kReady = 3;

fs::path lock_file(const fs::path& experiment) {
  return experiment / "supervisor.lock";
}

// A lock of the process, not of the open file: when a supervisor is killed, a shim that it has just
// started must not keep the lock. The process loses this lock when it closes any descriptor of the
// file, so a supervisor opens the file once.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Returns nothing if another process holds the lock.
UniqueFd try_lock(const fs::path& experiment) {
  UniqueFd file = open_file(lock_file(experiment), O_RDWR | O_CREAT);
  struct flock lock = whole_file();
  while (::fcntl(file.get(), F_SETLK, &lock) != 0) {
    if (errno == EACCES || errno == EAGAIN) return {};
    if (errno != EINTR) throw_system_error("lock", lock_file(experiment), errno);
  }
  return file;
}

fs::path full_path(const fs::path& path) {
  return fs::absolute(path).lexically_normal();
}

// The experiment that this process supervises. Empty if none.
fs::path& own_experiment() {
  static fs::path experiment;
  return experiment;
}

// One file descriptor that signals SIGTERM, SIGINT, new units and requests.
class Wake {
 public:
  explicit Wake(const fs::path& experiment) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, &before_);
    signals_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    files_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    all_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    if (!signals_ || !all_) throw RunError("the system is out of file descriptors");
    add(signals_);
    // Without inotify (the system limits the instances) the supervisor polls once a second.
    if (!files_) return;
    for (const char* name : {"units.jsonl", "requests.jsonl"}) {
      const fs::path file = experiment / name;
      const UniqueFd there = open_file(file, O_RDWR | O_CREAT);
      ::inotify_add_watch(files_.get(), file.c_str(), IN_MODIFY);
    }
    add(files_);
  }
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;
  ~Wake() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  int fd() const { return all_.get(); }

  // Reads all events. Returns whether a signal has ever arrived.
  bool quiet() {
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof signal) > 0) stopped_ = true;
    char events[4096];
    while (files_ && ::read(files_.get(), events, sizeof events) > 0) {
    }
    return stopped_;
  }

 private:
  void add(const UniqueFd& file) {
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(all_.get(), EPOLL_CTL_ADD, file.get(), &event);
  }

  UniqueFd signals_, files_, all_;
  sigset_t before_{};
  bool stopped_ = false;
};

class Heartbeat {
 public:
  explicit Heartbeat(fs::path file) : file_(std::move(file)), started_(unix_time()) {}

  // Writes the file if it is time. A full disk must not end the supervisor.
  void beat() {
    const double now = steady_seconds();
    if (last_ != 0 && now - last_ < kHeartbeatSeconds) return;
    last_ = now;
    const Value facts = Value::table({{"pid", static_cast<std::int64_t>(::getpid())},
                                      {"boot_id", boot_id()},
                                      {"host", host_name()},
                                      {"started", started_},
                                      {"time", unix_time()}});
    try {
      replace_file(file_, to_json(facts) + "\n", Durability::cached);
    } catch (const RunError&) {
    }
  }

 private:
  fs::path file_;
  double started_, last_ = 0;
};

bool is_done(const fs::path& experiment) {
  DiskRecords records(experiment);
  const auto& units = records.all_units();
  return std::all_of(units.begin(), units.end(), [&](const launch::WorkUnit& unit) {
    return std::all_of(unit.jobs.begin(), unit.jobs.end(), [&](const launch::Job& job) {
      return is_final(records.status(unit.wid, job.name).state);
    });
  });
}

// Nobody writes to this pipe.
void wait_for_end(const UniqueFd& pipe) {
  char nothing = 0;
  while (::read(pipe.get(), &nothing, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace

bool has_supervisor_at_work(const fs::path& experiment) {
  if (own_experiment() == full_path(experiment)) return true;
  std::error_code ignored;
  if (!fs::exists(lock_file(experiment), ignored)) return false;
  const UniqueFd file = open_file(lock_file(experiment), O_RDONLY);
  // Tests the lock without taking it, so that a test never blocks a start.
  struct flock lock = whole_file();
  if (::fcntl(file.get(), F_GETLK, &lock) != 0) {
    throw_system_error("test the lock", lock_file(experiment), errno);
  }
  return lock.l_type != F_UNLCK;
}

void start_supervisor(const fs::path& experiment, const std::vector<std::string>& plugin_dirs) {
  if (has_supervisor_at_work(experiment)) return;
  const std::string program = own_program().string();
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw RunError("the system is out of file descriptors");
  const UniqueFd ready(ends[0]);
  UniqueFd given(ends[1]);
  std::vector<std::string> words = {program, "supervise", experiment.string(),
                                    "--ready=" + std::to_string(kReady)};
  for (const std::string& folder : plugin_dirs) words.push_back("--plugin-dir=" + folder);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const fs::path log = experiment / "supervisor.log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_adddup2(&actions, given.get(), kReady);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // The child starts with default signals, even if this process blocks some.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int failure =
      ::posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    throw RunError("cannot start the supervisor: " + std::generic_category().message(failure));
  }
  // The supervisor keeps its end of the pipe open until it is running or has ended.
  given = UniqueFd();
  wait_for_end(ready);
}

void supervise(const fs::path& experiment, ConfigCatalog& catalog, UniqueFd ready) {
  bool stopped = false;
  do {
    const UniqueFd lock = try_lock(experiment);
    if (!lock) return;
    own_experiment() = full_path(experiment);
    Wake wake(experiment);
    Heartbeat heartbeat(experiment / "supervisor.json");
    heartbeat.beat();
    ready = UniqueFd();
    LaunchedExperiment launched(experiment, catalog);
    launch::Supervision supervision;
    supervision.wake_fd = wake.fd();
    supervision.should_stop = [&] {
      heartbeat.beat();
      // If the experiment was removed, there is nothing left to supervise.
      stopped = wake.quiet() || !holds_experiment(experiment);
      return stopped;
    };
    launched.orchestrator().supervise(supervision);
    // Releases the lock before the last check: a process that adds units either finds the lock free
    // or is noticed by the check.
    own_experiment().clear();
  } while (!stopped && !is_done(experiment));
}

}  // namespace trivet

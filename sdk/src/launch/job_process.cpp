// SPDX-License-Identifier: Apache-2.0
#include "launch/job_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "launch/attempt_files.h"
#include "trivet/os/process.h"

extern char** environ;

namespace trivet::launch {
namespace {

// The arguments of the new process. It shares the memory of its parent, which waits until it has
// become the program: it may make system calls and write here, and neither allocate nor throw.
struct Plan {
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* working_directory = nullptr;
  std::string start_head;
  const cpu_set_t* cpus = nullptr;
  JobFiles files;
  pid_t parent = 0;
  const char* failed_action = nullptr;
  int error = 0;
  int cgroup_error = 0;
};

int give_up(Plan& plan, const char* action) {
  plan.error = errno;
  plan.failed_action = action;
  return 127;
}

bool write_start(const Plan& plan) {
  std::array<char, 2048> text;
  char* at = text.data();
  const auto put = [&](std::string_view part) {
    const std::size_t room = static_cast<std::size_t>(text.data() + text.size() - at);
    at = std::copy_n(part.data(), std::min(part.size(), room), at);
  };
  const auto put_number = [&](std::int64_t number) {
    at = std::to_chars(at, text.data() + text.size(), number).ptr;
  };
  put(plan.start_head);
  put(",\"pid\":");
  put_number(::getpid());
  put(",\"start_ticks\":");
  put_number(start_ticks(::getpid()));
  put("}\n");
  const int file = ::openat(plan.files.directory, "started.json.tmp",
                            O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const ssize_t size = at - text.data();
  const bool written = ::write(file, text.data(), static_cast<std::size_t>(size)) == size;
  const int error = written ? 0 : errno;
  ::close(file);
  errno = error;
  return written && ::renameat(plan.files.directory, "started.json.tmp", plan.files.directory,
                               "started.json") == 0;
}

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

int become_job(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  if (::setsid() < 0) return give_up(plan, "cannot make a session for");
  // A job without a shim would run on while its attempt is taken for lost.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) return 127;
  if (plan.cpus != nullptr) ::sched_setaffinity(0, sizeof *plan.cpus, plan.cpus);
  if (plan.files.cgroup >= 0 && ::write(plan.files.cgroup, "0", 1) < 0) plan.cgroup_error = errno;
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(plan.files.out, 1) < 0 ||
      ::dup2(plan.files.errors, 2) < 0) {
    return give_up(plan, "cannot set up the files of");
  }
  if (::chdir(plan.working_directory) != 0) {
    return give_up(plan, "cannot change to the working directory of");
  }
  // The caller's own files are closed when the program starts.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (!write_start(plan)) return give_up(plan, "cannot write started.json of");
  reset_signals();
  ::execve(plan.argv[0], plan.argv.data(), plan.environment.data());
  return give_up(plan, "cannot start");
}

bool names_variable(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

// Later ones replace earlier ones: what passes through, what the location says, what the job says.
std::vector<std::string> environment_of(const Job& job, const AttemptOptions& options,
                                        const std::filesystem::path& directory) {
  std::vector<std::string> entries;
  const auto set = [&](std::string_view name, std::string entry) {
    std::erase_if(entries, [&](const std::string& old) { return names_variable(old, name); });
    entries.push_back(std::move(entry));
  };
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.size() < text.size() && passes_through(job, name)) set(name, *entry);
  }
  for (const auto* list : {&options.env, &job.env}) {
    for (const auto& [name, value] : *list) set(name, name + "=" + value);
  }
  if (job.tells_done) {
    set(kDoneFileVariable,
        fmt::format("{}={}", kDoneFileVariable, (directory / kDoneFile).string()));
  }
  return entries;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

cpu_set_t set_of(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  return set;
}

}  // namespace

JobProcess spawn_job(const Job& job, const std::filesystem::path& directory,
                     const AttemptOptions& options, const JobFiles& files) {
  if (job.argv.empty()) throw RunError("job '" + job.name + "' has no program");
  const std::vector<std::string> environment = environment_of(job, options, directory);
  const cpu_set_t cpus = set_of(options.cpus);
  StartRecord start;
  start.shim = ::getpid();
  start.shim_ticks = start_ticks(start.shim);
  start.boot_id = boot_id();
  start.host = host_name();
  start.processes = job.processes;
  start.time = unix_time();
  Plan plan;
  plan.argv = pointers_to(job.argv);
  plan.environment = pointers_to(environment);
  plan.working_directory = job.working_directory.c_str();
  plan.start_head = start_record_head(start);
  plan.cpus = options.cpus.empty() ? nullptr : &cpus;
  plan.files = files;
  plan.parent = start.shim;

  constexpr std::size_t kStackSize = 64 << 10;
  std::vector<char> stack(kStackSize);
  JobProcess process;
  process.pid =
      ::clone(become_job, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
  if (process.pid < 0) throw_errno("start", job.argv[0], errno);
  if (plan.failed_action != nullptr) {
    process.failure = std::string(plan.failed_action) + " " + job.argv[0] + ": " +
                      std::generic_category().message(plan.error);
  }
  if (plan.cgroup_error != 0) {
    process.cgroup_failure =
        "cannot enter its cgroup: " + std::generic_category().message(plan.cgroup_error);
  }
  return process;
}

}  // namespace trivet::launch

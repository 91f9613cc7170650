// SPDX-License-Identifier: Apache-2.0
#include "trivet/testing/run_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::testing {
namespace {

constexpr auto kGrace = std::chrono::seconds(5);

UniqueFd anonymous_file(const char* name) {
  UniqueFd file(::memfd_create(name, 0));
  if (!file) throw RunError(std::string("no memory for a process: ") + std::strerror(errno));
  return file;
}

[[noreturn]] void run_body(int rank, int count, const UniqueFd& world, const UniqueFd& text,
                           pid_t parent, const std::function<std::string()>& body) {
  // Nothing outlives the test.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setenv("TRIVET_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("TRIVET_PROCESSES", std::to_string(count).c_str(), 1);
  ::setenv("TRIVET_WORLD_FD", std::to_string(world.get()).c_str(), 1);
  int code = 0;
  std::string result;
  try {
    result = body();
  } catch (const std::exception& error) {
    result = error.what();
    code = 1;
  }
  try {
    write_all(text, result, "the text of a process");
  } catch (const std::exception&) {
    code = 1;
  }
  ::_exit(code);
}

std::string content_of(const UniqueFd& file) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size <= 0) return "";
  return read_part(file, 0, static_cast<std::uint64_t>(size), "the text of a process");
}

}  // namespace

std::string ProcessResults::text() const {
  std::string out;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    const auto& [status, text] = processes[rank];
    if (status == 0 && text.empty()) continue;
    out += "process " + std::to_string(rank) + " (status " + std::to_string(status) + "): " + text +
           "\n";
  }
  return out;
}

ProcessResults run_processes(int count, const std::function<std::string()>& body) {
  const UniqueFd world = anonymous_file("trivet-world");
  std::vector<UniqueFd> texts;
  std::vector<pid_t> pids;
  const pid_t parent = ::getpid();
  for (int rank = 0; rank < count; ++rank) texts.push_back(anonymous_file("trivet-text"));
  for (int rank = 0; rank < count; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      run_body(rank, count, world, texts[static_cast<std::size_t>(rank)], parent, body);
    }
    if (pid < 0) {
      const std::string reason = std::strerror(errno);
      for (const pid_t started : pids) {
        ::kill(started, SIGKILL);
        ::waitpid(started, nullptr, 0);
      }
      throw RunError("cannot start a process: " + reason);
    }
    pids.push_back(pid);
  }
  ProcessResults results;
  results.processes.resize(pids.size());
  auto deadline = std::chrono::steady_clock::time_point::max();
  for (std::size_t left = pids.size(); left > 0;) {
    for (std::size_t rank = 0; rank < pids.size(); ++rank) {
      int status = 0;
      if (pids[rank] == 0 || ::waitpid(pids[rank], &status, WNOHANG) != pids[rank]) continue;
      pids[rank] = 0;
      left -= 1;
      results.processes[rank] = {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                                 content_of(texts[rank])};
      const auto end = std::chrono::steady_clock::now() + kGrace;
      if (results.processes[rank].status != 0) deadline = std::min(deadline, end);
    }
    if (std::chrono::steady_clock::now() > deadline) {
      for (const pid_t pid : pids) {
        if (pid != 0) ::kill(pid, SIGKILL);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return results;
}

}  // namespace trivet::testing

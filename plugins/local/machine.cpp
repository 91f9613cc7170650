// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>

#include "trivet/text/strings.h"

namespace trivet::local {
namespace {

namespace fs = std::filesystem;

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) {
    const long online = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
    for (int cpu = 0; cpu < online; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

// A container's limit, if any ("max" means none).
std::int64_t container_limit() {
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    std::int64_t bytes = 0;
    if (file >> bytes && bytes > 0) return bytes;
  }
  return std::numeric_limits<std::int64_t>::max();
}

std::int64_t usable_memory() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t page_size = ::sysconf(_SC_PAGESIZE);
  return std::min(pages * page_size, container_limit());
}

std::vector<std::string> usable_gpus() {
  std::vector<std::string> gpus;
  if (const char* named = std::getenv("CUDA_VISIBLE_DEVICES")) {
    for (const std::string_view gpu : split(named, ',')) {
      if (!gpu.empty()) gpus.emplace_back(gpu);
    }
    return gpus;
  }
  std::error_code error;
  for (fs::directory_iterator entry("/proc/driver/nvidia/gpus", error), end; !error && entry != end;
       entry.increment(error)) {
    gpus.push_back(std::to_string(gpus.size()));
  }
  return gpus;
}

}  // namespace

Resources& Resources::operator+=(const Resources& other) {
  cores += other.cores;
  memory_bytes += other.memory_bytes;
  gpus += other.gpus;
  return *this;
}

Resources& Resources::operator-=(const Resources& other) {
  cores -= other.cores;
  memory_bytes -= other.memory_bytes;
  gpus -= other.gpus;
  return *this;
}

bool Resources::hold(const Resources& want) const {
  return (want.cores <= 0 || want.cores <= cores) &&
         (want.memory_bytes <= 0 || want.memory_bytes <= memory_bytes) &&
         (want.gpus <= 0 || want.gpus <= gpus);
}

Resources resources_of(const launch::Job& job) {
  return {job.cores, job.memory_bytes, job.gpus};
}

Resources resources_of(const launch::Job& job, std::int64_t processes) {
  const auto part = [&](std::int64_t amount) {
    return processes == job.processes ? amount : amount / job.processes * processes;
  };
  return {part(job.cores), part(job.memory_bytes), part(job.gpus)};
}

std::int64_t fewest_processes(const launch::Job& job) {
  return job.process_counts.empty() ? job.processes : job.process_counts.front();
}

Resources Machine::resources() const {
  return {static_cast<std::int64_t>(cpus.size()), memory_bytes,
          static_cast<std::int64_t>(gpus.size())};
}

Machine this_machine() {
  return {usable_cpus(), usable_memory(), usable_gpus()};
}

}  // namespace trivet::local

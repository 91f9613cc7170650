// SPDX-License-Identifier: Apache-2.0
#include "local/process_choice.h"

#include <vector>

#include <catch2/catch.hpp>

namespace process_choice_test {

using namespace trivet::local;
using trivet::launch::Job;
using Numbers = std::vector<std::int64_t>;

namespace {

Job run_of(const Numbers& counts, std::int64_t cores_each = 1, std::int64_t gpus_each = 0) {
  Job job;
  job.processes = counts.back();
  if (counts.size() > 1) job.process_counts = counts;
  job.cores = cores_each * job.processes;
  job.gpus = gpus_each * job.processes;
  return job;
}

struct Room {
  explicit Room(std::int64_t cores, std::int64_t gpus = 0) {
    for (int cpu = 0; cpu < cores; ++cpu) machine.cpus.push_back(cpu);
    for (int gpu = 0; gpu < gpus; ++gpu) machine.gpus.push_back(std::to_string(gpu));
    limits = {.resources = machine.resources(), .jobs = 9};
  }
  Numbers choose(const std::vector<Job>& jobs) const {
    std::vector<const Job*> pointers;
    for (const Job& job : jobs) pointers.push_back(&job);
    return choose_processes(pointers, Capacity(machine, limits, {}, {}, {}));
  }
  Machine machine;
  Limits limits;
};

}  // namespace

TEST_CASE("a run gets the largest of its numbers of processes that fits") {
  const Job run = run_of({1, 2, 4, 8});
  CHECK(Room(16).choose({run}) == Numbers{8});
  CHECK(Room(7).choose({run}) == Numbers{4});
  CHECK(Room(1).choose({run}) == Numbers{1});
  CHECK(Room(7).choose({run_of({1, 2, 4}, 3)}) == Numbers{2});
  CHECK(Room(16, 3).choose({run_of({1, 2, 4}, 1, 1)}) == Numbers{2});
  // It waits for its fewest.
  CHECK(Room(1).choose({run_of({2, 4})}) == Numbers{2});
  CHECK(Room(2).choose({run_of({4})}) == Numbers{4});
}

TEST_CASE("of runs that start together, the one with the most processes gives way") {
  const Job run = run_of({1, 2, 4});
  CHECK(Room(8).choose({run, run}) == Numbers{4, 4});
  CHECK(Room(7).choose({run, run}) == Numbers{2, 4});
  CHECK(Room(5).choose({run, run}) == Numbers{2, 2});
  CHECK(Room(3).choose({run, run}) == Numbers{1, 2});
  CHECK(Room(6).choose({run, run_of({4})}) == Numbers{2, 4});
}

}  // namespace process_choice_test

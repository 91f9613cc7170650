// SPDX-License-Identifier: Apache-2.0
#include "processes/world.h"

#include <sched.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "base/process_info.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

// A transfer inside a machine takes microseconds. A longer wait leaves the core to others.
constexpr double kSpinningSeconds = 50e-6;

}  // namespace

const tv_collective& collective_engine(const std::string& key, const std::string& path) {
  const auto* table =
      static_cast<const tv_collective*>(registry().table("collective", key, Origin{}, path));
  const auto refuse = [&](const std::string& what) {
    throw PluginError(key + ": " + what,
                      {.hint = "rebuild the engine against this SDK; trivet-testing has a check of "
                               "engines"});
  };
  if (table == nullptr) refuse("the plugin gave no table");
  if (table->api_version != TV_COLLECTIVE_API_VERSION) {
    refuse("the engine speaks version " + std::to_string(table->api_version) +
           " of collective.h, this program version " + std::to_string(TV_COLLECTIVE_API_VERSION));
  }
  if (table->struct_size < offsetof(tv_collective, progress) + sizeof(table->progress)) {
    refuse("its struct_size does not cover all functions");
  }
  const bool is_complete = table->launched && table->init && table->finish && table->abort &&
                           table->split && table->release && table->all_gather &&
                           table->all_to_all && table->broadcast && table->send && table->receive &&
                           table->progress;
  if (!is_complete) refuse("the engine lacks a function; only launcher may be null");
  return *table;
}

World::World(const tv_collective& engine, std::string key) : engine_(engine), key_(std::move(key)) {
  host_.struct_size = sizeof(host_);
  host_.self = this;
  host_.set_error = [](const tv_collective_host* host, const char* text) {
    static_cast<World*>(host->self)->error_ = text != nullptr ? text : "";
  };
  about_.struct_size = sizeof(about_);
  check(engine_.init(&host_, &comm_, &about_), "init");
}

World::~World() {
  // After a failure somebody may be gone, for whom this would wait.
  if (!failed_) engine_.finish(comm_);
}

void World::check(tv_status status, const char* function) {
  if (status == TV_OK) return;
  failed_ = true;
  throw RunError(key_ + " (" + function + "): " + (error_.empty() ? "failed" : error_));
}

void World::wait(tv_request* request, const char* function) {
  const double start = steady_seconds();
  std::int32_t done = 0;
  while (true) {
    check(engine_.progress(&request, &done), function);
    if (done != 0) return;
    if (steady_seconds() - start > kSpinningSeconds) ::sched_yield();
  }
}

void World::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  tv_request* request = nullptr;
  check(engine_.all_gather(comm_, mine.data(), all.data(), mine.size(), &request), "all_gather");
  wait(request, "all_gather");
}

void World::all_to_all(std::span<const std::byte> mine, std::span<std::byte> theirs) {
  const auto count = static_cast<std::size_t>(size());
  const std::vector<std::uint64_t> bytes(count, mine.size() / count);
  tv_request* request = nullptr;
  check(engine_.all_to_all(comm_, mine.data(), bytes.data(), theirs.data(), bytes.data(), &request),
        "all_to_all");
  wait(request, "all_to_all");
}

}  // namespace trivet

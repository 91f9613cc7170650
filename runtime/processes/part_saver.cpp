// SPDX-License-Identifier: Apache-2.0
#include "processes/part_saver.h"

#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "processes/order.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/os/process.h"

namespace trivet {
namespace {

std::string report_of(const std::string& error, const std::string& hint) {
  return to_json(Value::table({{"error", error}, {"hint", hint}}));
}

// While it lives, calls wait as long as disks take. Rank 0 has the limit.
class NoTimeLimit {
 public:
  explicit NoTimeLimit(World& world) : world_(world), before_(world.timeout()) {
    world_.set_timeout(World::kNoLimit);
  }
  ~NoTimeLimit() { world_.set_timeout(before_); }
  NoTimeLimit(const NoTimeLimit&) = delete;
  NoTimeLimit& operator=(const NoTimeLimit&) = delete;

 private:
  World& world_;
  double before_;
};

// Another machine may have another file system under this path.
void check_directory(const std::filesystem::path& directory) {
  if (is_there(directory)) return;
  throw RunError(
      fmt::format("{} is not on {}, and process 0 has made it", directory.string(), host_name()),
      {.hint = "all processes write checkpoints: choose a --workdir on a file system that their "
               "machines share"});
}

}  // namespace

PartSaver::PartSaver(World& world)
    : world_(world), snapshot_({.rank = world.rank(), .processes = world.size()}) {}

PartSaver::~PartSaver() {
  if (writing_.valid()) writing_.wait();
}

void PartSaver::save(Trainer& trainer, const std::filesystem::path& directory) {
  if (writing_.valid()) throw Error("the last save has not been reported");
  snapshot_.clear();
  trainer.save(snapshot_);
  writing_ = std::async(std::launch::async, [this, directory] { return write(directory); });
}

std::string PartSaver::write(const std::filesystem::path& directory) const {
  try {
    check_directory(directory);
    const std::string report = to_text(snapshot_.write(directory));
    replace_file(directory / report_file_name(world_.rank()), report, Durability::cached);
    return report;
  } catch (const Error& failure) {
    return report_of(failure.message(), failure.hint());
  } catch (const std::exception& failure) {
    return report_of(failure.what(), "");
  }
}

std::int64_t PartSaver::send_report() {
  using namespace std::chrono_literals;
  if (!writing_.valid() || writing_.wait_for(0s) != std::future_status::ready) return 0;
  const std::string report = writing_.get();
  const auto bytes = std::as_bytes(std::span(report));
  world_.send({bytes.begin(), bytes.end()}, 0);
  return static_cast<std::int64_t>(report.size());
}

void PartSaver::finish() {
  const NoTimeLimit no_limit(world_);
  all_gather_text(world_, writing_.valid() ? writing_.get() : std::string());
}

WrittenPart written_part_of_report(const std::string& report, int rank, int processes) {
  const Value value = value_from_json(report, fmt::format("the report of process {}", rank));
  if (!value.is_table()) return written_part_of(report);
  throw RunError(
      fmt::format("process {} of {}: {}", rank, processes, value.find("error")->as_string()),
      {.hint = value.find("hint")->as_string()});
}

}  // namespace trivet

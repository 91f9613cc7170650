// SPDX-License-Identifier: Apache-2.0
#include "processes/follower_writers.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>
#include <thread>

#include "base/process_info.h"
#include "processes/order.h"
#include "processes/part_saver.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

// The others wait for longer until rank 0 is gone (World::leave). One that is gone leaves no file,
// and the run reports that at once.
constexpr double kEndingSeconds = 5, kGoneSeconds = 0.5;

}  // namespace

FollowerWriters::~FollowerWriters() {
  const double limit = steady_seconds() + (world_.has_failed() ? kGoneSeconds : kEndingSeconds);
  try {
    while (save_ && steady_seconds() < limit) {
      look_for_files();
      if (has_all_reports()) {
        end();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (const std::exception&) {
    // The checkpoint is not published. The run reports its own failure.
  }
}

void FollowerWriters::look_for_files() {
  for (int rank = 1; rank < world_.size(); ++rank) {
    std::string& report = save_->reports[static_cast<std::size_t>(rank)];
    const std::filesystem::path file = save_->directory / report_file_name(rank);
    if (report.empty() && is_there(file)) report = read_text_file(file);
  }
}

std::shared_future<std::vector<WrittenPart>> FollowerWriters::begin(
    const std::filesystem::path& directory) {
  save_.emplace(Save{.done = {}, .directory = directory});
  save_->reports.resize(static_cast<std::size_t>(world_.size()));
  std::shared_future<std::vector<WrittenPart>> done = save_->done.get_future().share();
  if (has_all_reports()) end();  // of no other process
  return done;
}

void FollowerWriters::wait() {
  if (!save_) return;
  try {
    const Together together(world_);
    give(world_, {kEndOfSave});
    const std::vector<std::string> reports = all_gather_text(world_, {});
    for (std::size_t rank = 1; rank < reports.size(); ++rank) {
      if (!reports[rank].empty()) save_->reports[rank] = reports[rank];
    }
  } catch (...) {
    save_->done.set_exception(std::current_exception());
    save_.reset();
    throw;
  }
  end();
}

void FollowerWriters::receive(const std::vector<StepRecord>& records) {
  for (std::size_t rank = 1; rank < records.size(); ++rank) {
    const auto bytes = static_cast<std::size_t>(records[rank].report_bytes);
    if (bytes == 0) continue;
    std::string report(bytes, '\0');
    world_.receive(std::as_writable_bytes(std::span(report)), static_cast<int>(rank));
    if (save_) save_->reports[rank] = std::move(report);
  }
  if (save_ && has_all_reports()) end();
}

bool FollowerWriters::has_all_reports() const {
  return std::all_of(save_->reports.begin() + 1, save_->reports.end(),
                     [](const std::string& report) { return !report.empty(); });
}

void FollowerWriters::end() {
  try {
    std::vector<WrittenPart> parts;
    for (int rank = 1; rank < world_.size(); ++rank) {
      parts.push_back(written_part_of_report(save_->reports[static_cast<std::size_t>(rank)], rank,
                                             world_.size()));
    }
    save_->done.set_value(std::move(parts));
  } catch (...) {
    save_->done.set_exception(std::current_exception());
  }
  save_.reset();
}

}  // namespace trivet

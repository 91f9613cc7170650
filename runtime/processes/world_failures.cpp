// SPDX-License-Identifier: Apache-2.0
// How a failure of one process becomes that of all: a World tells rank 0, which reports it.
#include <unistd.h>

#include <exception>
#include <string>
#include <utility>

#include "base/process_info.h"
#include "processes/world.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr std::int32_t kNoticeTag = 32'767;
constexpr double kLeavingSeconds = 10;
constexpr unsigned kPollMicroseconds = 1000;

}  // namespace

// Calls after it throw the same: who waited for an exchange beside others may have caught it.
void World::throw_failure(RunError failure) {
  if (!failure_) failure_ = std::move(failure);
  throw RunError(*failure_);
}

// The engine uses the memory of what is under way whenever it runs, and the exception that follows
// gives that back: so it runs no more behind this. Another process than rank 0 first waits some
// seconds until rank 0, which reports the failure, is gone: a launcher ends all with the first.
void World::fail() {
  if (std::exchange(failed_, true) || comm_ == nullptr || rank() == 0) return;
  static std::byte never{};  // the request outlives this call
  tv_request* request = nullptr;
  if (engine_.receive(comm_, &never, 1, 0, kNoticeTag, &request) != TV_OK) return;
  tv_request*& waited = abandoned_.emplace_back(request);
  const double end = steady_seconds() + kLeavingSeconds;
  std::int32_t done = 0;
  while (steady_seconds() < end && engine_.progress(&waited, &done) == TV_OK && done == 0) {
    ::usleep(kPollMicroseconds);
  }
}

void World::expect_notice(int rank) {
  const auto index = static_cast<std::size_t>(rank);
  check(engine_.receive(comm_, &notices_[index], sizeof(Notice), rank, kNoticeTag,
                        &notice_requests_[index]),
        "receive");
}

void World::tell(const Failure& failure) {
  Notice notice{};
  failure.text.copy(notice.text, sizeof(notice.text) - 1);
  failure.plugin.copy(notice.plugin, sizeof(notice.plugin) - 1);
  failure.key.copy(notice.key, sizeof(notice.key) - 1);
  tv_request* request = nullptr;
  check(engine_.send(comm_, &notice, sizeof(notice), 0, kNoticeTag, &request), "send");
  wait(request, "send");
}

void World::check_notices() {
  for (int other = 1; other < size(); ++other) {
    const auto index = static_cast<std::size_t>(other);
    std::int32_t done = 0;
    tv_request*& request = notice_requests_[index];
    if (request == nullptr || engine_.progress(&request, &done) != TV_OK || done == 0) continue;
    const Notice& notice = notices_[index];
    const std::string text = static_cast<const char*>(notice.text);
    if (text.empty()) continue;
    failed_ = true;
    ErrorDetails details = of_engine();
    if (notice.plugin[0] != '\0') {
      details = {.plugin = static_cast<const char*>(notice.plugin),
                 .key = static_cast<const char*>(notice.key)};
    }
    throw_failure(
        RunError("process " + std::to_string(other) + " of " + std::to_string(size()) + ": " + text,
                 details));
  }
}

void World::leave(const Failure& failure) noexcept {
  if (failed_) return;
  try {
    tell(failure);
    fail();
  } catch (const std::exception&) {
    // Rank 0 is gone.
  }
}

void World::take_failures() {
  for (int other = 1; other < size(); ++other) {
    tv_request*& request = notice_requests_[static_cast<std::size_t>(other)];
    wait(std::exchange(request, nullptr), "receive");
    expect_notice(other);
  }
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "profile/step_profile.h"

#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

constexpr std::int64_t kMostProfiledSteps = 1000;
constexpr std::size_t kRowsOnScreen = 12;

std::optional<std::int64_t> step_in(std::string_view text) {
  std::int64_t step = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), step);
  const bool is_whole = failure == std::errc() && end == text.data() + text.size();
  return is_whole && step >= 1 ? std::optional(step) : std::nullopt;
}

}  // namespace

StepRange step_range_of(const std::string& text) {
  constexpr std::string_view kName = "steps=";
  const std::string_view range =
      text.starts_with(kName) ? std::string_view(text).substr(kName.size()) : std::string_view();
  const std::size_t dots = range.find("..");
  const auto first = step_in(range.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : step_in(range.substr(dots + 2));
  if (!first || !last || *last < *first) {
    throw UsageError("--profile takes the steps to look at, not '" + text + "'",
                     {.hint = "--profile steps=10..13"});
  }
  if (*last - *first >= kMostProfiledSteps) {
    throw UsageError(fmt::format("--profile keeps every kernel of at most {} steps, '{}' are {}",
                                 kMostProfiledSteps, text, *last - *first + 1));
  }
  return {*first, *last};
}

StepProfile::StepProfile(StepRange range, Parts parts) : range_(range), parts_(std::move(parts)) {}

void StepProfile::at_step(std::int64_t step) {
  if (profile_ && step > begin_ + std::ssize(ends_)) ends_.push_back(profile_->seconds());
  if (profile_ && step >= range_.last) return write();
  if (profile_ || is_written_ || step < range_.first - 1 || step >= range_.last) return;
  begin_ = step;
  ends_.clear();
  profile_ = std::make_unique<Profile>(parts_.device);
}

void StepProfile::finish() {
  if (profile_ && !ends_.empty()) return write();
  profile_.reset();
  if (is_written_) return;
  parts_.warn(fmt::format("--profile: no step of {} to {} was trained", range_.first, range_.last));
}

void StepProfile::write() {
  ProfiledSteps steps{.first = begin_ + 1,
                      .last = begin_ + std::ssize(ends_),
                      .ends = std::move(ends_),
                      .kernels = profile_->kernels(),
                      .spans = profile_->spans(),
                      .exchanges = profile_->exchanges(),
                      .scopes = Profile::scopes(),
                      .peak_flops = parts_.peak_flops()};
  profile_.reset();
  is_written_ = true;
  const std::filesystem::path directory = parts_.directory / "profile";
  const std::string name = fmt::format("steps_{}_{}", steps.first, steps.last);
  // A profile that cannot be written must not cost the run.
  try {
    make_directories(directory);
    replace_file(directory / (name + ".json"), chrome_trace(steps), Durability::cached);
    replace_file(directory / (name + ".txt"), profile_text(steps, 0), Durability::cached);
    parts_.print(profile_text(steps, kRowsOnScreen) + (directory / (name + ".json")).string() +
                 ": open it in ui.perfetto.dev");
  } catch (const Error& failure) {
    parts_.warn("the profile is not written: " + failure.message());
  }
}

}  // namespace trivet

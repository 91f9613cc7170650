// SPDX-License-Identifier: Apache-2.0
#include "evaluation/example_outputs.h"

#include <fcntl.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "trivet/config/json.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "outputs_step_";
constexpr std::string_view kSuffix = ".jsonl";
constexpr std::string_view kUnfinished = ".tmp";
constexpr std::size_t kBuffer = std::size_t{1} << 20;

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return step;
}

void remove_file(const fs::path& path) {
  std::error_code failure;
  if (!fs::remove(path, failure) && failure) {
    throw_system_error("remove", path, failure.value());
  }
}

}  // namespace

ExampleOutputs::ExampleOutputs(fs::path directory)
    : RunRecords(directory), directory_(std::move(directory)) {}

ExampleOutputs::~ExampleOutputs() {
  drop();
}

fs::path ExampleOutputs::path_of(std::int64_t step) const {
  return directory_ / fmt::format("{}{}{}", kPrefix, step, kSuffix);
}

void ExampleOutputs::begin(std::int64_t step) {
  drop();
  make_directories(directory_);
  target_ = path_of(step);
  unfinished_ = target_;
  unfinished_ += kUnfinished;
  file_ = open_file(unfinished_, O_WRONLY | O_CREAT | O_TRUNC);
}

void ExampleOutputs::add(std::int64_t example, const Value& columns) {
  Value line = Value::table({{"example", example}});
  for (const Value::Member& member : columns.members()) line.set(member.key, member.value);
  buffer_ += to_json(line);
  buffer_ += '\n';
  if (buffer_.size() >= kBuffer) flush();
}

void ExampleOutputs::flush() {
  write_all(file_, buffer_, unfinished_);
  buffer_.clear();
}

void ExampleOutputs::commit() {
  flush();
  sync_file(file_, unfinished_);
  file_ = UniqueFd();
  rename_path(unfinished_, target_);
  sync_directory(directory_);
}

void ExampleOutputs::drop() noexcept {
  buffer_.clear();
  if (!file_) return;
  file_ = UniqueFd();
  std::error_code ignored;
  fs::remove(unfinished_, ignored);
}

void ExampleOutputs::cut_after(const RunPosition& last) {
  drop();
  if (!is_there(directory_)) return;
  std::vector<fs::path> outdated;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_)) {
    std::string name = entry.path().filename().string();
    const bool unfinished = name.ends_with(kUnfinished);
    if (unfinished) name.resize(name.size() - kUnfinished.size());
    const std::optional<std::int64_t> step = step_of(name);
    if (!step) continue;
    const bool counts = *step < last.step || (*step == last.step && last.evaluated);
    if (unfinished || !counts) outdated.push_back(entry.path());
  }
  for (const fs::path& path : outdated) remove_file(path);
}

}  // namespace trivet

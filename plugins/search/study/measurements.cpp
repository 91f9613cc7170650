// SPDX-License-Identifier: Apache-2.0
#include "search/study/measurements.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/launch/unit_files.h"
#include "trivet/os/file.h"

namespace trivet::search {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{64} << 20;

// None where there is no file of this name.
UniqueFd open_if_there(const std::filesystem::path& path) {
  try {
    return open_file(path, O_RDONLY);
  } catch (const FileError& failure) {
    if (failure.number() != ENOENT && failure.number() != ENOTDIR) throw;
    return {};
  }
}

struct stat info_of(const UniqueFd& file, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw_system_error("read", path, errno);
  return info;
}

// From `offset` to the end, or less.
std::string read_from(const UniqueFd& file, std::uint64_t offset, std::uint64_t end,
                      const std::filesystem::path& path) {
  if (::lseek(file.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    throw_system_error("read", path, errno);
  }
  return read_up_to(file, std::min<std::uint64_t>(end - offset, kMostAtOnce), path);
}

// Null means not finite.
std::optional<double> number_of(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_integer() || value->is_float()) return value->as_float();
  if (value->is_null()) return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::optional<Value> parse_line(std::string_view line, const std::filesystem::path& file) {
  try {
    return value_from_json(line, file.string());
  } catch (const RunError&) {
    return std::nullopt;
  }
}

// Replaces NaN, Infinity and -Infinity by null: JSON has no such numbers, but Python writes them.
std::string with_null_for_infinite(std::string_view line) {
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size();) {
    const std::string_view rest = line.substr(i);
    std::size_t length = 0;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (!quoted && rest.starts_with(word)) length = word.size();
    }
    if (length > 0) {
      text += "null";
    } else {
      quoted ^= rest.front() == '"';
      length = quoted && rest.front() == '\\' ? std::min<std::size_t>(2, rest.size()) : 1;
      text += rest.substr(0, length);
    }
    i += length;
  }
  return text;
}

// Parses JSON, also with Python's NaN and Infinity.
std::optional<Value> record_in(std::string_view line, const std::filesystem::path& file) {
  std::optional<Value> record = parse_line(line, file);
  if (!record) record = parse_line(with_null_for_infinite(line), file);
  if (record && record->is_table()) return record;
  return std::nullopt;
}

// A record without a kind is an evaluation.
std::string kind_of(const Value& record) {
  const Value* kind = record.find("kind");
  if (kind == nullptr) return "eval";
  return kind->is_string() ? kind->as_string() : std::string();
}

// Programs other than runs may write the numbers next to the step.
const Value& values_of(const Value& record) {
  const Value* values = record.find("values");
  return values != nullptr && values->is_table() ? *values : record;
}

// The longest part of a pattern between its stars.
std::string literal_of(const Objective& objective) {
  if (!objective.aggregate) return objective.name;
  std::string longest;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = std::min(objective.name.find('*', begin), objective.name.size());
    if (end - begin > longest.size()) longest = objective.name.substr(begin, end - begin);
    if (end == objective.name.size()) return longest;
    begin = end + 1;
  }
}

}  // namespace

Objective parse_objective(std::string_view text) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && colon > 0 &&
      std::ranges::all_of(text.substr(0, colon), is_plain)) {
    Objective objective = parse_objective(text.substr(colon + 1));
    objective.run = text.substr(0, colon);
    return objective;
  }
  if (const std::optional<MetricPattern> pattern = parse_metric_pattern(text)) {
    Objective objective = parse_objective(pattern->pattern);
    objective.aggregate = pattern->aggregate;
    return objective;
  }
  for (const std::string_view kind : {"eval", "train"}) {
    if (text.starts_with(kind) && text.substr(kind.size()).starts_with('/')) {
      return {std::string(kind), std::string(text.substr(kind.size() + 1))};
    }
  }
  return {"eval", std::string(text)};
}

std::string text_of(const Objective& objective) {
  const std::string run = objective.run.empty() ? "" : objective.run + ":";
  const std::string number = objective.kind + "/" + objective.name;
  if (!objective.aggregate) return run + number;
  return run + std::string(enum_name(*objective.aggregate)) + "(" + number + ")";
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& unit,
                                            const Objective& objective) {
  const auto files = launch::metrics_files(objective.run.empty() ? unit : unit / objective.run);
  return {files.begin(), files.end()};
}

MeasurementReader::MeasurementReader(std::filesystem::path file, Objective objective)
    : file_(std::move(file)), objective_(std::move(objective)), literal_(literal_of(objective_)) {}

bool MeasurementReader::update() {
  const UniqueFd file = open_if_there(file_);
  if (!file) return false;
  const struct stat info = info_of(file, file_);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (info.st_ino != inode_ || size < offset_) {
    inode_ = info.st_ino;
    offset_ = 0;
  }
  bool changed = false;
  while (offset_ < size) {
    const std::string text = read_from(file, offset_, size, file_);
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
      changed |= take(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
    if (begin == 0 && text.size() < kMostAtOnce) break;  // the line is still being written
    offset_ += begin == 0 ? text.size() : begin;
  }
  return changed;
}

bool MeasurementReader::take(std::string_view line) {
  // Skips other lines unparsed: most lines are training records, and parsing them would take most
  // of the time.
  if (line.find(literal_) == std::string_view::npos) return false;
  const std::optional<Value> record = record_in(line, file_);
  if (!record || kind_of(*record) != objective_.kind) return false;
  const Value* step = record->find("step");
  const std::optional<double> value = number_in(*record);
  if (step == nullptr || !step->is_integer() || !value) return false;
  while (!measurements_.empty() && measurements_.back().step >= step->as_integer()) {
    measurements_.pop_back();
  }
  measurements_.push_back({step->as_integer(), *value});
  return true;
}

std::optional<double> MeasurementReader::number_in(const Value& record) const {
  const Value& values = values_of(record);
  const Value* rates = record.find("rates");
  if (!objective_.aggregate) {
    const Value* found = values.find(objective_.name);
    if (found == nullptr && rates != nullptr) found = rates->find(objective_.name);
    return number_of(found);
  }
  if (!values.is_table()) return std::nullopt;
  std::vector<double> numbers;
  for (const Value::Member& member : values.members()) {
    if (!fits_pattern(member.key, objective_.name)) continue;
    if (const std::optional<double> number = number_of(&member.value)) numbers.push_back(*number);
  }
  if (numbers.empty()) return std::nullopt;
  return aggregate_of(*objective_.aggregate, numbers);
}

UnitCurve::UnitCurve(const std::filesystem::path& unit, const Objective& objective) {
  for (const std::filesystem::path& file : files_of(unit, objective)) {
    readers_.emplace_back(file, objective);
  }
}

bool UnitCurve::update() {
  bool changed = false;
  for (MeasurementReader& reader : readers_) changed |= reader.update();
  if (!changed) return false;
  measurements_.clear();
  for (const MeasurementReader& reader : readers_) {
    for (const Measurement& measurement : reader.measurements()) {
      const auto at = std::lower_bound(
          measurements_.begin(), measurements_.end(), measurement.step,
          [](const Measurement& one, std::int64_t step) { return one.step < step; });
      const bool is_there = at != measurements_.end() && at->step == measurement.step;
      if (is_there) {
        *at = measurement;
      } else {
        measurements_.insert(at, measurement);
      }
    }
  }
  return true;
}

std::vector<std::string> numbers_seen(const std::filesystem::path& run) {
  constexpr std::uint64_t kTail = 64 << 10;
  std::set<std::string> names;
  for (const std::filesystem::path& path : launch::metrics_files(run)) {
    try {
      const UniqueFd file = open_if_there(path);
      if (!file) continue;
      const auto size = static_cast<std::uint64_t>(info_of(file, path).st_size);
      const std::string text = read_from(file, size - std::min(size, kTail), size, path);
      std::size_t begin = 0;
      for (std::size_t end = text.find('\n'); end != std::string::npos;
           end = text.find('\n', begin)) {
        const auto record = record_in(std::string_view(text).substr(begin, end - begin), path);
        begin = end + 1;
        if (!record) continue;
        for (const Value::Member& one : values_of(*record).members()) {
          const bool is_own = one.key == "step" || one.key == "time" || one.key == "kind";
          if (!is_own && number_of(&one.value)) names.insert(kind_of(*record) + "/" + one.key);
        }
      }
    } catch (const RunError&) {
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace trivet::search

// SPDX-License-Identifier: Apache-2.0
#include "search/study/study.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/os/process.h"

namespace trivet::search {
namespace {

constexpr std::uint64_t kLargestJournal = std::uint64_t{1} << 30;

// Brings a line to the disk, instead of what lies behind the first `size` bytes.
void append_line(const std::filesystem::path& path, std::uint64_t size, const std::string& line) {
  const UniqueFd file = open_file(path, O_WRONLY | O_CREAT | O_APPEND);
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    throw_system_error("write", path, errno);
  }
  append_all(file, line, path);
  sync_file(file, path);
}

}  // namespace

Study::Study(std::filesystem::path journal, const SearchSpace& space)
    : journal_(std::move(journal)) {
  for (const Dimension* key : space.keys()) paths_.push_back(key->path());
  read();
}

void Study::read() {
  if (!std::filesystem::exists(journal_)) return;
  const std::string text = read_text_file(journal_, kLargestJournal);
  std::int64_t number = 1;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', size_)) {
    const std::string where = journal_.string() + ":" + std::to_string(number++);
    Value line;
    try {
      line = value_from_json(text.substr(size_, end - size_), where);
    } catch (const RunError&) {
      // The machine crashed while the last line was written.
      if (end + 1 == text.size()) return;
      throw;
    }
    take(line, where);
    size_ = end + 1;
  }
}

void Study::take(const Value& line, const std::string& where) {
  const Value* number = line.find("trial");
  const Value* point = line.find("point");
  const std::string state = line.string_or("state");
  const std::int64_t known = std::ssize(trials_);
  const std::int64_t at = number != nullptr && number->is_integer() ? number->as_integer() : -1;
  if (at == known && state == enum_name(TrialState::running) && point != nullptr &&
      point->is_table()) {
    trials_.push_back({.number = at, .point = point_from(*point)});
    endings_.emplace_back();
    if (const Value* given = line.find("enqueued")) enqueued_.push_back(*given);
    return;
  }
  const auto end = enum_from_name<TrialState>(state);
  if (!end || *end == TrialState::running || at < 0 || at >= known ||
      trials_[static_cast<std::size_t>(at)].state != TrialState::running) {
    throw RunError(where +
                   ": the journal of a search cannot continue with this line: " + to_json(line));
  }
  Trial& trial = trials_[static_cast<std::size_t>(at)];
  trial.state = *end;
  const Value* value = line.find("value");
  if (value != nullptr && (value->is_float() || value->is_integer())) {
    trial.value = value->as_float();
  }
  const Value* values = line.find("values");
  if (values != nullptr && values->is_array()) {
    for (const Value& one : values->items()) {
      if (one.is_float() || one.is_integer()) trial.values.push_back(one.as_float());
    }
  }
  const Value* wid = line.find("wid");
  const Value* detail = line.find("detail");
  Ending& ending = endings_[static_cast<std::size_t>(at)];
  if (wid != nullptr && wid->is_integer()) ending.wid = wid->as_integer();
  if (detail != nullptr && detail->is_string()) ending.detail = detail->as_string();
  ended_.push_back(trial.number);
}

// In the order of the space, so that the same point makes the same unit.
SearchPoint Study::point_from(const Value& table) const {
  SearchPoint point;
  for (const std::string& path : paths_) {
    if (const Value* value = table.find(path)) point.emplace_back(path, *value);
  }
  for (const auto& member : table.members()) {
    if (std::find(paths_.begin(), paths_.end(), member.key) != paths_.end()) continue;
    point.emplace_back(member.key, member.value);
  }
  return point;
}

const Study::Ending& Study::ending(std::int64_t number) const {
  return endings_[static_cast<std::size_t>(number)];
}

std::vector<Trial> Study::history() const {
  std::vector<Trial> history;
  for (const std::int64_t number : ended_) {
    history.push_back(trials_[static_cast<std::size_t>(number)]);
  }
  for (const Trial& trial : trials_) {
    if (trial.state == TrialState::running) history.push_back(trial);
  }
  return history;
}

std::int64_t Study::failures_in_a_row() const {
  const auto good = std::find_if(ended_.rbegin(), ended_.rend(), [&](std::int64_t number) {
    return trials_[static_cast<std::size_t>(number)].state != TrialState::failed;
  });
  return good - ended_.rbegin();
}

void Study::append(const Value& line) {
  const std::string text = to_json(line) + "\n";
  append_line(journal_, size_, text);
  size_ += text.size();
}

const Trial& Study::begin(SearchPoint point, const Value& enqueued) {
  Value table = Value::table();
  for (const auto& [path, value] : point) table.set(path, value);
  const std::int64_t number = std::ssize(trials_);
  Value line = Value::table({{"trial", number},
                             {"state", enum_name(TrialState::running)},
                             {"point", table},
                             {"time", unix_time()}});
  if (!enqueued.is_null()) line.set("enqueued", enqueued);
  append(line);
  if (!enqueued.is_null()) enqueued_.push_back(enqueued);
  endings_.emplace_back();
  return trials_.emplace_back(Trial{.number = number, .point = std::move(point)});
}

void Study::set_measurements(std::int64_t number, std::vector<Measurement> measurements) {
  trials_[static_cast<std::size_t>(number)].measurements = std::move(measurements);
}

void Study::end(std::int64_t number, TrialState state, const std::vector<double>& values,
                Ending ending) {
  Value line = Value::table({{"trial", number},
                             {"state", enum_name(state)},
                             {"wid", ending.wid},
                             {"value", values.empty() ? Value() : Value(values.front())},
                             {"detail", ending.detail},
                             {"time", unix_time()}});
  if (values.size() > 1) line.set("values", Value::array_of(values));
  append(line);
  Trial& trial = trials_[static_cast<std::size_t>(number)];
  trial.state = state;
  if (!values.empty()) trial.value = values.front();
  if (values.size() > 1) trial.values = values;
  endings_[static_cast<std::size_t>(number)] = std::move(ending);
  ended_.push_back(number);
}

}  // namespace trivet::search

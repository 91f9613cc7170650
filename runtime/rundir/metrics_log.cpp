// SPDX-License-Identifier: Apache-2.0
#include "rundir/metrics_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/process_info.h"
#include "base/reverse_line_reader.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// Builds lines without a JSON library: a run may write one per step.
void add_number(std::string& line, double number) {
  line += std::isfinite(number) ? float_text(number) : "null";
}

void add_text(std::string& line, const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
  if (plain) {
    line.append(1, '"').append(text).append(1, '"');
  } else {
    line += to_json(Value(text));
  }
}

void add_logs(std::string& line, const Logs& logs) {
  const char* between = "{";
  for (const auto& [name, number] : logs) {
    line += between;
    add_text(line, name);
    line += ':';
    add_number(line, number);
    between = ",";
  }
  line += logs.empty() ? "{}" : "}";
}

UniqueFd open_log(const std::filesystem::path& path) {
  return open_file(path, O_RDWR | O_CREAT | O_APPEND);
}

}  // namespace

MetricsLog::MetricsLog(std::filesystem::path path)
    : path_(std::move(path)), file_(open_log(path_)) {}

void MetricsLog::truncate_after(std::int64_t step) {
  struct stat about = {};
  if (::fstat(file_.get(), &about) != 0) throw_system_error("read", path_, errno);
  const auto size = static_cast<std::uint64_t>(about.st_size);
  last_step_ = -1;
  has_train_ = has_eval_ = false;
  extent_ = {};
  if (size > 0) keep(kept_until(step, size), size);
}

void MetricsLog::keep_all() {
  truncate_after(std::numeric_limits<std::int64_t>::max());
}

Value MetricsLog::extent() {
  extent_.extend(file_, path_);
  return extent_.to_value();
}

std::string MetricsLog::loss_since(const Value& extent) const {
  const std::string loss = trivet::loss_since(extent, file_, path_);
  return loss.empty() ? loss : path_.string() + " " + loss;
}

// Finds the lines to keep, from the end. Steps ascend, so lines before a record of a step that is
// kept need not be read.
std::vector<MetricsLog::Range> MetricsLog::kept_until(std::int64_t step, std::uint64_t size) {
  bool unfinished = read_part(file_, size - 1, 1, path_) != "\n";
  std::vector<Range> kept;
  ReverseLineReader lines(file_, path_, size);
  std::string line;
  std::uint64_t start = 0;
  for (std::uint64_t end = size; lines.next(line, start); end = start) {
    const std::optional<AnyRecord> any = unfinished ? std::nullopt : parse_any_record(line);
    unfinished = false;
    const bool is_kept = any ? any->step.value_or(step) <= step : !kept.empty();
    if (!is_kept) continue;
    if (!kept.empty() && kept.back().begin == end) {
      kept.back().begin = start;
    } else {
      kept.push_back({start, end});
    }
    if (!any || !any->known) continue;
    if (last_step_ >= 0 && any->known->step != last_step_) {
      kept.back().begin = 0;
      break;
    }
    note(any->known->kind, any->known->step);
  }
  return kept;
}

void MetricsLog::keep(const std::vector<Range>& ranges, std::uint64_t size) {
  const bool is_start = ranges.empty() || (ranges.size() == 1 && ranges[0].begin == 0);
  if (is_start) {
    const std::uint64_t end = ranges.empty() ? 0 : ranges[0].end;
    if (end < size && ::ftruncate(file_.get(), static_cast<off_t>(end)) != 0) {
      throw_system_error("write", path_, errno);
    }
    return;
  }
  // Kept records between dropped ones, which a kill must not lose.
  std::string text;
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    text += read_part(file_, range->begin, range->end - range->begin, path_);
  }
  replace_file(path_, text, Durability::synced);
  file_ = open_log(path_);
}

bool MetricsLog::ends_with(RecordKind kind, std::int64_t step) const {
  return last_step_ == step && (kind == RecordKind::eval ? has_eval_ : has_train_);
}

void MetricsLog::append(RecordKind kind, std::int64_t step, const Logs& values, const Logs& rates) {
  line_ = "{\"step\":" + std::to_string(step) + ",\"kind\":\"";
  line_.append(enum_name(kind)).append("\",\"values\":");
  add_logs(line_, values);
  line_ += ",\"rates\":";
  add_logs(line_, rates);
  line_ += ",\"time\":";
  add_number(line_, unix_time());
  line_ += "}\n";
  append_all(file_, line_, path_);
  note(kind, step);
}

void MetricsLog::note(RecordKind kind, std::int64_t step) {
  if (step != last_step_) has_train_ = has_eval_ = false;
  last_step_ = step;
  (kind == RecordKind::eval ? has_eval_ : has_train_) = true;
}

void MetricsLog::sync() {
  sync_file(file_, path_);
}

}  // namespace trivet

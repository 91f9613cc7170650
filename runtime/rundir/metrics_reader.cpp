// SPDX-License-Identifier: Apache-2.0
#include "rundir/metrics_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "base/reverse_line_reader.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

// Calls `use` for every complete line. An overlong line is passed as empty.
void for_lines(const std::filesystem::path& path,
               const std::function<void(std::string_view)>& use) {
  const UniqueFd file = open_file(path, O_RDONLY);
  std::string line;
  bool too_long = false;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("read", path, errno);
    if (count == 0) return;
    std::string_view rest(buffer, static_cast<std::size_t>(count));
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      too_long = too_long || line.size() > kLongestLine;
      if (!too_long) line += rest.substr(0, end);
      if (end == std::string_view::npos) break;
      use(too_long ? std::string_view() : line);
      line.clear();
      too_long = false;
      rest.remove_prefix(end + 1);
    }
  }
}

class Collector {
 public:
  explicit Collector(const std::function<bool(RecordKind, std::string_view)>& wanted)
      : wanted_(wanted) {}

  void take(std::string_view line) {
    const std::optional<MetricsRecord> record = parse_record(line);
    ++(record ? content.records : content.unreadable);
    if (!record) return;
    for (const Logs* logs : {&record->values, &record->rates}) {
      for (const auto& [name, value] : *logs) add(*record, name, value);
    }
  }

  MetricsContent content;

 private:
  void add(const MetricsRecord& record, const std::string& name, double value) {
    const auto [location, is_new] =
        locations_.try_emplace({record.kind, name}, Location{content.series.size(), false});
    if (is_new) {
      location->second.wanted = wanted_(record.kind, name);
      content.series.push_back({record.kind, name, {}});
    }
    if (!location->second.wanted) return;
    content.series[location->second.index].points.push_back({record.step, value});
  }

  struct Location {
    std::size_t index;
    bool wanted;
  };
  const std::function<bool(RecordKind, std::string_view)>& wanted_;
  std::map<std::pair<RecordKind, std::string>, Location> locations_;
};

}  // namespace

MetricsContent read_metrics(const std::filesystem::path& file,
                            const std::function<bool(RecordKind, std::string_view)>& wanted) {
  Collector collector(wanted);
  for_lines(file, [&](std::string_view line) { collector.take(line); });
  return std::move(collector.content);
}

LastRecords last_records(const std::filesystem::path& path,
                         std::optional<std::uint64_t> most_bytes) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const UniqueFd file = open_file(path, O_RDONLY);
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) throw_system_error("read", path, errno);
  const auto size = static_cast<std::uint64_t>(about.st_size);
  ReverseLineReader lines(file, path, size);
  LastRecords last;
  std::string line;
  std::uint64_t start = size;
  while ((!last.train || !last.eval) && lines.next(line, start)) {
    if (std::optional<MetricsRecord> record = parse_record(line)) {
      std::optional<MetricsRecord>& location =
          record->kind == RecordKind::train ? last.train : last.eval;
      if (!location) location = std::move(record);
    }
    if (most_bytes && size - start > *most_bytes) break;
  }
  return last;
}

}  // namespace trivet

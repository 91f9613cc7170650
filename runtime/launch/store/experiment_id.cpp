// SPDX-License-Identifier: Apache-2.0
#include "launch/store/experiment_id.h"

#include <charconv>
#include <cstdlib>
#include <vector>

#include <fmt/core.h>

#include "launch/store/experiment_store.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 1) return std::nullopt;
  return value;
}

// 0 if experiment.json has no number.
std::int64_t xid_of(const fs::path& directory) {
  const fs::path file = directory / "experiment.json";
  try {
    return value_from_json(read_text_file(file, 1 << 20), file.string()).integer_or("xid", 0);
  } catch (const RunError&) {
    return 0;
  }
}

ExperimentStore::Location by_number(const std::string& text, const ExperimentStore& store) {
  const auto xid = number(text);
  const auto found = xid ? store.find(*xid) : std::nullopt;
  if (found) return {*xid, *found};
  const std::vector<ExperimentStore::Location> all = store.all();
  if (text == "@last" && !all.empty()) return all.back();
  const std::string root = store.root().string();
  if (xid && store.is_unfinished(*xid)) {
    throw UsageError(fmt::format("the launch of experiment {} in {} was interrupted", *xid, root),
                     {.hint = fmt::format("launch it again with --xid={}", *xid)});
  }
  throw UsageError(
      text == "@last" || all.empty()
          ? fmt::format("no experiments in {}", root)
          : fmt::format("experiment '{}' does not exist in {}", text, root),
      {.hint = all.empty() ? "--root DIR names the directory of the experiments"
                           : fmt::format("there are {}, the last one is {}; --root DIR names "
                                         "another directory",
                                         all.size(), all.back().xid)});
}

}  // namespace

ExperimentId find_experiment(const std::string& text, const fs::path& root) {
  if (holds_experiment(text)) {
    const fs::path directory = fs::absolute(text).lexically_normal();
    return {{}, xid_of(directory), directory, {}, {}};
  }
  const std::vector<std::string_view> words = split(text, '/');
  const std::vector<std::string> parts(words.begin(), words.end());
  if (parts.size() > 3) {
    throw UsageError("'" + text + "' does not name an experiment",
                     {.hint = "write XID, XID/WID or XID/WID/JOB"});
  }
  ExperimentId id;
  const ExperimentStore::Location location = by_number(parts[0], ExperimentStore(root));
  id.root = root;
  id.xid = location.xid;
  id.directory = fs::absolute(location.directory).lexically_normal();
  if (parts.size() > 1) {
    id.wid = number(parts[1]);
    if (!id.wid) {
      throw UsageError("'" + parts[1] + "' in '" + text + "' is not the number of a work unit");
    }
  }
  if (parts.size() > 2) id.job = parts[2];
  return id;
}

fs::path experiments_root(const std::string* option) {
  if (option != nullptr) return *option;
  const char* variable = std::getenv("TRIVET_ROOT");
  return variable != nullptr && *variable != '\0' ? variable : "runs";
}

}  // namespace trivet

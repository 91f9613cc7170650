// SPDX-License-Identifier: Apache-2.0
#include "rundir/evaluations.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/format.h"
#include "rundir/run_status.h"

namespace trivet {

namespace fs = std::filesystem;

std::vector<fs::path> evaluations_of(const fs::path& run) {
  std::vector<fs::path> found;
  std::error_code failure;
  fs::directory_iterator entry(run / kEvaluationsDirectory, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    if (is_run(entry->path())) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.native(), b.native());
  });
  return found;
}

std::string evaluations_text(const fs::path& run) {
  std::string text;
  for (const fs::path& path : evaluations_of(run)) {
    const RunStatus info = run_info(path);
    text += fmt::format("{}/{}  {}", kEvaluationsDirectory, path.filename().string(), info.state);
    if (!info.problem.empty()) text += "  " + info.problem;
    if (info.last.eval) {
      text += fmt::format("  step {}", info.last.eval->step);
      for (const auto& [name, value] : info.last.eval->values) {
        text += fmt::format("  {} {}", name, format_number(value));
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace trivet

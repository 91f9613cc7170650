// SPDX-License-Identifier: Apache-2.0
#include "launch/changed_programs.h"

#include "trivet/config/digest.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::launch {
namespace {

constexpr std::uint64_t kMostCompared = std::uint64_t{1} << 30;

// Empty for a file that cannot be read, of which the start itself tells.
std::string digest_of(const std::filesystem::path& file) {
  try {
    return digest(read_text_file(file, kMostCompared));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> changed_programs(const Job& job) {
  std::vector<std::string> changes;
  for (const auto& [path, known] : job.programs) {
    const std::string now = digest_of(path);
    if (now.empty() || now == known) continue;
    changes.push_back(path.string() +
                      " has changed since the launch, and this attempt runs what is there now; "
                      "xp.snapshot = \"programs\" keeps a copy");
  }
  return changes;
}

}  // namespace trivet::launch

// SPDX-License-Identifier: Apache-2.0
#include "config/toml/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

// Other files that may be meant: neighbors with a similar name, or an experiment. A folder with
// very many entries is not searched to its end.
std::string hint_for_missing(const std::filesystem::path& file) {
  constexpr std::size_t kMostEntries = 2000;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    names.push_back(it->path().filename().string());
    if (names.size() == kMostEntries) break;
  }
  const std::string wanted = file.filename().string();
  if (!nearest_names(wanted, names).empty()) return suggestion(wanted, names);
  return "'trivet experiments' lists the experiments that can be named instead of a file";
}

[[noreturn]] void refuse(const std::filesystem::path& file, const Origin& named_at,
                         std::string what, std::string hint = {}) {
  const Origin where = named_at.known() ? named_at : Origin{.file = file.string()};
  if (named_at.known()) what = "'" + file.string() + "': " + what;
  throw ConfigError(Diagnostic{where, {}, std::move(what), std::move(hint)});
}

}  // namespace

std::string read_config_text(const std::filesystem::path& file, const Origin& named_at) {
  // Unlike open_file, this waits for the other end of a pipe.
  const UniqueFd descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor) {
    const int reason = errno;
    refuse(file, named_at, std::string("cannot open this config: ") + std::strerror(reason),
           reason == ENOENT ? hint_for_missing(file) : std::string());
  }
  struct stat status {};
  if (::fstat(descriptor.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    refuse(file, named_at, "the path is a directory, not a config file");
  }
  // The size is counted while reading: pipes and devices do not tell theirs.
  std::string text;
  try {
    text = read_up_to(descriptor, kLargestConfig + 1, file);
  } catch (const FileError& failure) {
    refuse(file, named_at,
           std::string("cannot read this config: ") + std::strerror(failure.number()));
  }
  if (text.size() > kLargestConfig) {
    refuse(file, named_at, "larger than 8 MiB, the limit of a config",
           "put data into separate files that the config names");
  }
  return text;
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "config/toml/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

// Files in the folder with a similar name. A folder with very many entries is not searched
// completely.
std::string similar_files(const std::filesystem::path& file) {
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
  return nearest_names(wanted, names).empty() ? std::string() : suggestion(wanted, names);
}

[[noreturn]] void refuse(const std::filesystem::path& file, const Origin& named_at,
                         std::string what, std::string hint = {}) {
  const Origin where = named_at.known() ? named_at : Origin{.file = file.string()};
  if (named_at.known()) what = "'" + file.string() + "': " + what;
  throw ConfigError(Diagnostic{where, {}, std::move(what), std::move(hint)});
}

}  // namespace

std::string read_config_text(const std::filesystem::path& file, const Origin& named_at) {
  const UniqueFd descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) {
    const int reason = errno;
    refuse(file, named_at, std::string("cannot open this config: ") + std::strerror(reason),
           reason == ENOENT ? similar_files(file) : std::string());
  }
  struct stat status {};
  if (::fstat(descriptor.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    refuse(file, named_at, "this is a directory, not a config file");
  }
  std::string text;
  std::vector<char> buffer(std::size_t{64} << 10);
  // Counts the size while reading: pipes and devices do not report theirs.
  for (;;) {
    const ssize_t count = ::read(descriptor.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      refuse(file, named_at, std::string("cannot read this config: ") + std::strerror(errno));
    }
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestConfig) {
      refuse(file, named_at, "larger than 8 MiB, the limit of a config",
             "put data into separate files that the config names");
    }
  }
}

}  // namespace trivet

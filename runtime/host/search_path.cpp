// SPDX-License-Identifier: Apache-2.0
#include "host/search_path.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "base/user_directories.h"
#include "host/path_safety.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

// The parts of a list separated by colons. An empty part is ignored (it is not the working
// directory).
std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

// Where this code is in a library of another program: the installed folder, and that of a build
// tree. Empty where it is in the program.
std::vector<fs::path> beside_library() {
  Dl_info own{};
  static const char marker = 0;
  if (::dladdr(&marker, &own) == 0 || own.dli_fname == nullptr) return {};
  std::error_code error;
  const fs::path library = fs::canonical(own.dli_fname, error);
  if (error || !library.filename().string().starts_with("libtrivet-host")) return {};
  return {library.parent_path() / "trivet/plugins", library.parent_path() / "../plugins"};
}

constexpr std::string_view kInstalled = "installed";

// Whether a folder that does not exist is an error.
enum class Missing { error, allowed };

class SearchPath {
 public:
  void add(fs::path path, const char* source, Missing missing) {
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(path, ignored);
    const bool shipped = std::string_view(source) == kInstalled;
    for (SearchDirectory& known : directories_) {
      if (known.path != real) continue;
      known.shipped = known.shipped || shipped;
      return;
    }
    SearchDirectory directory{.path = real.empty() ? std::move(path) : real,
                              .source = source,
                              .error = {},
                              .shipped = shipped};
    directory.exists = fs::exists(directory.path, ignored);
    if (directory.exists) {
      directory.error = directory_objection(directory.path);
    } else if (missing == Missing::error) {
      directory.error = "the folder does not exist";
    }
    directories_.push_back(std::move(directory));
  }

  void refuse(fs::path path, const char* source, std::string error) {
    directories_.push_back({.path = std::move(path), .source = source, .error = std::move(error)});
  }

  std::vector<SearchDirectory> take() { return std::move(directories_); }

 private:
  std::vector<SearchDirectory> directories_;
};

}  // namespace

std::vector<SearchDirectory> plugin_search_path(const std::vector<std::string>& options) {
  SearchPath search;
  for (const std::string& option : options) {
    if (option.empty()) {
      search.refuse(option, "--plugin-dir", "the name is empty");
    } else {
      search.add(fs::absolute(option), "--plugin-dir", Missing::error);
    }
  }
  const char* variable = std::getenv("TRIVET_PLUGIN_PATH");
  for (const std::string& part : parts_of(variable != nullptr ? variable : "")) {
    if (part.front() == '/') {
      search.add(part, "TRIVET_PLUGIN_PATH", Missing::allowed);
    } else {
      search.refuse(part, "TRIVET_PLUGIN_PATH",
                    "not an absolute path: it would depend on the working directory");
    }
  }
  if (const fs::path user = home_directory(); !user.empty()) {
    search.add(user / ".local/lib/trivet/plugins", "user", Missing::allowed);
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (const std::string& part : parts_of(TRIVET_BUILD_PLUGIN_DIRS)) {
    const fs::path path = program.parent_path() / part;  // an absolute part stays as it is
    if (fs::exists(path, error)) search.add(path, kInstalled.data(), Missing::allowed);
  }
  for (const fs::path& path : beside_library()) {
    if (fs::exists(path, error)) search.add(path, kInstalled.data(), Missing::allowed);
  }
  return search.take();
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "support/plugin_folder.h"

#include <stdexcept>

#include "support/paths.h"

namespace trivet::test {

namespace fs = std::filesystem;

fs::path fixture(std::string_view name) {
  return build_root() / "test/plugins/fixtures" / (std::string(name) + ".so");
}

PluginFolder::PluginFolder() {
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

fs::path PluginFolder::copy(std::string_view name, std::string_view as) const {
  const fs::path to = path() / (std::string(as.empty() ? name : as) + ".so");
  fs::copy_file(fixture(name), to);
  fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  return to;
}

fs::path PluginFolder::copy_start(std::string_view name, std::size_t size,
                                  std::string_view as) const {
  const fs::path to = copy(name, as);
  fs::resize_file(to, size);
  return to;
}

std::vector<SearchDirectory> PluginFolder::search() const {
  return {{fs::canonical(path()), "test", directory_objection(path()), true}};
}

PluginFile state_of(const PluginHost& host, std::string_view stem) {
  for (const PluginFile& file : host.files()) {
    if (file.path.stem() == stem) return file;
  }
  throw std::runtime_error("the host has not looked at " + std::string(stem));
}

}  // namespace trivet::test

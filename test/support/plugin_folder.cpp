// SPDX-License-Identifier: Apache-2.0
#include "support/plugin_folder.h"

#include <stdexcept>
#include <system_error>

#include "support/paths.h"

namespace trivet::test {

namespace fs = std::filesystem;

fs::path fixture(std::string_view name) {
  return build_root() / "test/plugins/fixtures" / (std::string(name) + ".so");
}

PluginFolder::PluginFolder() {
  fs::permissions(folder_.path(), fs::perms::owner_all);
  const fs::path program = alone_.path() / "bin" / "trivet";
  fs::create_directory(program.parent_path());
  std::error_code other_file_system;
  fs::create_hard_link(test::program(), program, other_file_system);
  if (other_file_system) fs::copy_file(test::program(), program);
}

std::string PluginFolder::trivet() const {
  // libtrivet is found relative to the program: in the build, or in an installed tree.
  const fs::path beside = test::program().parent_path().parent_path();
  std::string libraries = (beside / "sdk").string();
  for (const char* lib : {"lib", "lib64", "lib/x86_64-linux-gnu"}) {
    libraries += ":" + (beside / lib).string();
  }
  return "LD_LIBRARY_PATH=" + test::quoted(libraries) +
         " TRIVET_PLUGIN_PATH=" + test::quoted(path().string()) + " HOME=/nonexistent " +
         test::quoted((alone_.path() / "bin" / "trivet").string());
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

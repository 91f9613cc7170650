// SPDX-License-Identifier: Apache-2.0
#include "support/plugins.h"

#include "support/paths.h"
#include "trivet/error.h"
#include "trivet/testing/plugins.h"

namespace trivet::test {
namespace {

std::filesystem::path file_of(const std::string& plugin) {
  return plugin_dir() / (plugin + ".so");
}

}  // namespace

void use_plugin(const std::string& name) {
  testing::load_plugin(file_of(name));
}

std::vector<std::string> backends() {
  std::vector<std::string> keys;
  for (const std::string key : {"tiny/Backend", "cpu/Highway"}) {
    if (std::filesystem::exists(file_of(key.substr(0, key.find('/'))))) keys.push_back(key);
  }
  if (keys.empty()) throw Error("no backend was built in " + plugin_dir().string());
  return keys;
}

std::unique_ptr<Device> open_device(const std::string& backend) {
  use_plugin(backend.substr(0, backend.find('/')));
  return testing::open_device(backend);
}

}  // namespace trivet::test

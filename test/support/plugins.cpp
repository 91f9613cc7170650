// SPDX-License-Identifier: Apache-2.0
#include "support/plugins.h"

#include <dlfcn.h>

#include <set>

#include "host/item_collector.h"
#include "support/paths.h"
#include "trivet/abi.h"
#include "trivet/error.h"
#include "trivet/registry.h"
#include "trivet/thread_pool.h"

namespace trivet::test {
namespace {

const trivet_entry_v1& entry_of(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error("cannot load a plugin: " + std::string(dlerror()));
  const void* entry = dlsym(library, TRIVET_ENTRY_SYMBOL);
  if (entry == nullptr) throw Error(file + " has no entry");
  return *static_cast<const trivet_entry_v1*>(entry);
}

std::string file_of(const std::string& plugin) {
  return plugin_dir() / (plugin + ".so");
}

}  // namespace

void use_plugin(const std::string& name) {
  static std::set<std::string> loaded;
  if (loaded.contains(name)) return;
  ItemCollector collector;
  trivet_host_v1 host{};
  host.struct_size = sizeof host;
  host.sdk_major = TRIVET_SDK_MAJOR;
  host.sdk_minor = TRIVET_SDK_MINOR;
  host.registrar = static_cast<Registrar*>(&collector);
  char reason[512] = {};
  const std::string file = file_of(name);
  if (entry_of(file).init(&host, reason, sizeof reason) != 0) {
    throw Error(file + " refused to start: " + std::string(reason));
  }
  registry().add({.name = name, .version = "test", .file = file}, std::move(collector.items));
  loaded.insert(name);
}

std::vector<std::string> backends() {
  std::vector<std::string> keys;
  for (const std::string key : {"tiny/Backend", "cpu/OpenBlas"}) {
    if (std::filesystem::exists(file_of(key.substr(0, key.find('/'))))) keys.push_back(key);
  }
  if (keys.empty()) throw Error("no backend was built in " + plugin_dir().string());
  return keys;
}

std::unique_ptr<Device> open_device(const std::string& backend) {
  use_plugin(backend.substr(0, backend.find('/')));
  const void* table = registry().table("backend", backend);
  DeviceOptions options;
  options.key = backend;
  options.pool = std::make_shared<ThreadPool>(2);
  return Device::open(static_cast<const tv_backend*>(table), std::move(options));
}

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
#include "trivet/testing/plugins.h"

#include <dlfcn.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/plugin/abi.h"
#include "trivet/plugin/registry.h"

namespace trivet::testing {
namespace {

namespace fs = std::filesystem;

class Collector final : public Registrar {
 public:
  void add(RegistryItem item) override { items.push_back(std::move(item)); }
  std::vector<RegistryItem> items;
};

const trivet_entry_v1& entry_of(const fs::path& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw PluginError("cannot load a plugin: " + std::string(dlerror()));
  const auto* entry = static_cast<const trivet_entry_v1*>(dlsym(library, TRIVET_ENTRY_SYMBOL));
  if (entry == nullptr || entry->magic != TRIVET_ENTRY_MAGIC) {
    throw PluginError(file.string() + ": it has no TRIVET_PLUGIN and is no plugin");
  }
  return *entry;
}

}  // namespace

void load_plugin(const fs::path& file) {
  static std::set<fs::path> loaded;
  const fs::path whole = fs::weakly_canonical(file);
  if (loaded.contains(whole)) return;
  Collector collector;
  trivet_host_v1 host{};
  host.struct_size = sizeof host;
  host.sdk_major = TRIVET_SDK_MAJOR;
  host.sdk_minor = TRIVET_SDK_MINOR;
  host.registrar = static_cast<Registrar*>(&collector);
  char reason[512] = {};
  if (entry_of(whole).init(&host, reason, sizeof reason) != 0) {
    throw PluginError(whole.string() + " refused to start: " + std::string(reason));
  }
  registry().add({.name = whole.stem().string(), .file = whole.string()},
                 std::move(collector.items));
  loaded.insert(whole);
}

void load_plugins(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".so") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) load_plugin(file);
}

std::unique_ptr<Device> open_device(const std::string& key, int threads) {
  DeviceOptions options;
  options.key = key;
  options.pool = std::make_shared<ThreadPool>(threads);
  const void* table = registry().table("backend", key);
  return Device::open(static_cast<const tv_backend*>(table), std::move(options));
}

}  // namespace trivet::testing

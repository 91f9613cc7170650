// SPDX-License-Identifier: Apache-2.0
#include "trivet/plugin/plugin_call.h"

#include <atomic>
#include <mutex>
#include <new>
#include <unordered_map>

#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

// A crash is attributed to this, so it is set before the plugin's code runs and not delayed. The
// model spares every call a look-up, and costs a pointer of what programs keep for libraries.
[[gnu::tls_model("initial-exec")]] thread_local const PluginCall* innermost = nullptr;

struct Classes {
  std::mutex mutex;
  std::unordered_map<const void*, const RegistryItem*> items;  // by table of virtual functions
};

Classes& classes() {
  static auto& all = *new Classes;  // never destroyed: plugins may run while the process ends
  return all;
}

std::string thrown_by(const char* method, const char* what) {
  if (*method == '\0') return what;
  return "its " + std::string(method) + " failed: " + what;
}

}  // namespace

PluginCall::PluginCall(const RegistryItem* item, const char* method, const char* path) noexcept
    : item_(item), method_(method), path_(path), outer_(innermost) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (item != nullptr) innermost = this;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

PluginCall::~PluginCall() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  innermost = outer_;
}

const PluginCall* PluginCall::current() noexcept {
  return innermost;
}

void rethrow_from_plugin(const RegistryItem* item, const char* method, const ErrorDetails& given,
                         const char* usual_path) {
  if (item == nullptr) throw;
  ErrorDetails details = given;
  details.plugin = item->plugin->name;
  details.key = item->key;
  try {
    throw;
  } catch (ConfigError& error) {
    error.amend(
        {.plugin = details.plugin, .key = details.key});  // its problems know where they stand
    throw;
  } catch (Error& error) {
    error.amend(details);
    throw;
  } catch (...) {
    if (details.path.empty()) details.path = usual_path;
  }
  try {
    throw;
  } catch (const std::bad_alloc&) {
    if (details.hint.empty()) details.hint = "make the batch or the model smaller";
    throw RunError("out of memory", details);
  } catch (const std::exception& error) {
    throw PluginError(thrown_by(method, error.what()), details);
  } catch (...) {
    throw PluginError(*method == '\0' ? "threw something that is not a std::exception"
                                      : "its " + std::string(method) +
                                            " threw something that is not a std::exception",
                      details);
  }
}

const RegistryItem* detail::item_of_class(const void* table) noexcept {
  Classes& known = classes();
  const std::lock_guard lock(known.mutex);
  const auto found = known.items.find(table);
  return found != known.items.end() ? found->second : nullptr;
}

void detail::remember_class(const void* object, const RegistryItem& item) {
  const void* table = nullptr;
  std::memcpy(&table, object, sizeof table);
  Classes& known = classes();
  const std::lock_guard lock(known.mutex);
  known.items[table] = &item;
}

void detail::forget_class(const RegistryItem& item) noexcept {
  Classes& known = classes();
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.items, [&](const auto& entry) { return entry.second == &item; });
}

}  // namespace trivet

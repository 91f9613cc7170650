// SPDX-License-Identifier: Apache-2.0
#include "trivet/plugin/registry.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "config/article.h"
#include "trivet/plugin/abi.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/version.h"

namespace trivet {

static_assert(kSdkMajor == TRIVET_SDK_MAJOR && kSdkMinor == TRIVET_SDK_MINOR,
              "abi.h and version.h disagree");

Registrar::~Registrar() = default;
PluginLoader::~PluginLoader() = default;

struct Registry::State {
  mutable std::mutex mutex;
  std::deque<RegistryItem> items;  // grows only, addresses stay
  PluginLoader* loader = nullptr;

  const RegistryItem* find(std::string_view kind, std::string_view key) const {
    for (const RegistryItem& item : items) {
      if (item.key == key && item.kind == kind) return &item;
    }
    return nullptr;
  }

  PluginLoader* current_loader() const {
    const std::lock_guard lock(mutex);
    return loader;
  }
};

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() {
  for (const RegistryItem& item : state_->items) detail::forget_class(item);
}

Registry& registry() {
  // Never destroyed: objects of plugins may use it while the process ends.
  static auto* const kRegistry = new Registry;
  return *kRegistry;
}

PluginLoader* Registry::set_loader(PluginLoader* loader) noexcept {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->loader, loader);
}

void Registry::add(PluginInfo plugin, std::vector<RegistryItem> items) {
  const auto info = std::make_shared<const PluginInfo>(std::move(plugin));
  const std::lock_guard lock(state_->mutex);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const RegistryItem& item = items[i];
    if (const RegistryItem* taken = state_->find(item.kind, item.key)) {
      throw PluginError("the " + item.kind + " '" + item.key + "' is already registered by " +
                            taken->plugin->file + "; " + info->file + " offers it again",
                        {.plugin = info->name, .hint = "remove one of the two libraries"});
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (items[j].key != item.key || items[j].kind != item.kind) continue;
      throw PluginError(
          "the " + item.kind + " '" + item.key + "' is offered twice by " + info->file,
          {.plugin = info->name});
    }
  }
  for (RegistryItem& item : items) {
    item.plugin = info;
    state_->items.push_back(std::move(item));
  }
}

const RegistryItem* Registry::find(std::string_view kind, std::string_view key) const {
  const std::lock_guard lock(state_->mutex);
  return state_->find(kind, key);
}

std::vector<const RegistryItem*> Registry::items(std::string_view kind) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<const RegistryItem*> found;
  for (const RegistryItem& item : state_->items) {
    if (kind.empty() || item.kind == kind) found.push_back(&item);
  }
  return found;
}

const RegistryItem& Registry::get(std::string_view kind, std::string_view key, const Origin& where,
                                  const std::string& path) {
  if (const RegistryItem* item = find(kind, key)) return *item;
  if (PluginLoader* loader = state_->current_loader()) {
    try {
      loader->load(kind, key);
    } catch (Error& error) {
      error.amend({.where = where, .path = path, .key = std::string(key)});
      throw;
    }
    if (const RegistryItem* item = find(kind, key)) return *item;
  }
  throw ConfigError(missing(kind, key, where, path));
}

Diagnostic Registry::missing(std::string_view kind, std::string_view key, const Origin& where,
                             const std::string& path) {
  std::vector<std::string> known;
  for (const RegistryItem* item : items(kind)) known.push_back(item->key);
  PluginLoader* loader = state_->current_loader();
  if (loader != nullptr) {
    for (std::string& name : loader->keys(kind)) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        known.push_back(std::move(name));
      }
    }
  }
  std::string hint;
  if (key.find('/') == std::string_view::npos) hint = "a type is written plugin/Name; ";
  hint += known.empty() ? "no plugin offers " + with_article(kind) : suggestion(key, known);
  for (const RegistryItem* item : items()) {
    if (item->key == key) hint = "it is " + with_article(item->kind) + "; " + hint;
  }
  if (loader != nullptr) hint += "; " + loader->searched();
  return {where, path, "there is no " + std::string(kind) + " '" + std::string(key) + "'",
          std::move(hint)};
}

namespace {

// A constructor names its fields as it knows them, without where they stand.
ConfigError placed(const ConfigError& error, const RegistryItem& item, const ConfigValue& config) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (Diagnostic& problem : diagnostics) {
    const std::string field = problem.path.substr(0, problem.path.find_first_of(".["));
    const bool own = item.schema != nullptr && item.schema().find(field) != nullptr;
    if (problem.where.known() || (!problem.path.empty() && !own)) continue;
    const Value* value = own ? config.fields().find_path(problem.path) : nullptr;
    problem.where = value != nullptr && value->origin().known() ? value->origin() : config.origin();
    if (!own) {
      problem.path = config.path();
    } else if (!config.path().empty()) {
      problem.path = config.path() + "." + problem.path;
    }
  }
  ConfigError here(std::move(diagnostics));
  here.amend(error.details());
  return here;
}

void* make_here(const RegistryItem& item, const ConfigValue& config, void* context) {
  try {
    return item.make(config, context);
  } catch (const ConfigError& error) {
    throw placed(error, item, config);
  }
}

}  // namespace

std::string_view plugin_of(std::string_view key) noexcept {
  return key.substr(0, key.find('/'));
}

const RegistryItem* Registry::current() noexcept {
  const PluginCall* const call = PluginCall::current();
  return call != nullptr ? &call->item() : nullptr;
}

void Registry::guard(const RegistryItem& item, const Origin& where, const std::string& path,
                     Call body) {
  const PluginCall call(&item, "", path.c_str());
  try {
    body.run(body.body);
  } catch (...) {
    rethrow_from_plugin(&item, "", {.where = where, .path = path});
  }
}

void* Registry::make(std::string_view kind, const ConfigValue& config, void* context) {
  if (!config.has_value()) {
    throw Error("there is no " + std::string(kind) + " to make: its config is empty",
                {.where = config.origin(), .path = config.path()});
  }
  const RegistryItem& item = get(kind, config.key(), config.origin(), config.path());
  if (item.make == nullptr) {
    throw Error("'" + item.key + "' makes no objects", {.path = config.path()});
  }
  void* object = nullptr;
  guard(item, config.origin(), config.path(), [&] {
    object = make_here(item, config, context);
    if (object == nullptr) throw PluginError("its factory returned no object");
  });
  detail::remember_class(object, item);
  return object;
}

void Registry::check(std::string_view kind, const ConfigValue& config, Diagnostics& diagnostics) {
  if (!config.has_value()) return;
  const RegistryItem& item = get(kind, config.key(), config.origin(), config.path());
  if (item.check == nullptr) return;
  guard(item, config.origin(), config.path(),
        [&] { item.check(config.fields(), config.path(), diagnostics); });
}

Value Registry::experiment(std::string_view key) {
  const RegistryItem& item = get("experiment", key);
  Value config;
  guard(item, {}, {}, [&] { config = item.value(); });
  return config;
}

void Registry::check_experiment(std::string_view key, const Value& config,
                                Diagnostics& diagnostics) {
  const RegistryItem& item = get("experiment", key);
  if (item.check == nullptr) return;
  guard(item, {}, {}, [&] { item.check(config, {}, diagnostics); });
}

const void* Registry::table(std::string_view kind, std::string_view key, const Origin& where,
                            const std::string& path) {
  const RegistryItem& item = get(kind, key, where, path);
  const void* table = nullptr;
  guard(item, where, path, [&] {
    if (item.table != nullptr) table = item.table();
    if (table == nullptr) throw PluginError("gave no table of functions");
  });
  return table;
}

std::optional<ScalarShorthand> Registry::for_number(std::string_view kind) {
  std::vector<ScalarShorthand> found;
  std::vector<std::string> resolved;
  if (PluginLoader* loader = state_->current_loader()) {
    found = loader->for_number(kind);
    resolved = loader->keys(kind);
  }
  // Which of its own plugins a number means is the loader's to say, loaded or not.
  for (const RegistryItem* item : items(kind)) {
    const bool decided = std::find(resolved.begin(), resolved.end(), item->key) != resolved.end();
    if (!item->scalar_shorthand.empty() && !decided) {
      found.push_back({item->key, item->scalar_shorthand});
    }
  }
  if (found.empty()) return std::nullopt;
  if (found.size() > 1) {
    throw ConfigError(Diagnostic{.what = "a bare number could mean the " + std::string(kind) +
                                         " '" + found[0].key + "' or '" + found[1].key + "'",
                                 .hint = "write a table with a 'type'"});
  }
  return found.front();
}

std::string Registry::key_of_token(std::string_view kind, const void* token) const {
  const RegistryItem* found = nullptr;
  for (const RegistryItem* item : items(kind)) {
    if (item->config_token != token) continue;
    if (found != nullptr) {
      throw Error("the config struct belongs to both '" + found->key + "' and '" + item->key + "'",
                  {.hint = "name the key: ConfigOf<Base>(\"plugin/Name\", fields)"});
    }
    found = item;
  }
  if (found == nullptr) {
    throw Error("this plugin registered no " + std::string(kind) + " with this config struct",
                {.hint = "name the key: ConfigOf<Base>(\"plugin/Name\", fields)"});
  }
  return found->key;
}

}  // namespace trivet

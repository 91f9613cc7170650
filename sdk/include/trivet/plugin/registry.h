// SPDX-License-Identifier: Apache-2.0
// The registry: "config in, object out". Every plugin offers items; an item has a kind ("layer"), a
// key ("nn/Linear"), a schema and a factory. Objects are made from configs.
//
// Example (sdk/examples/snippets/registry.cpp#make):
//
//   std::unique_ptr<trivet::Layer> layer = trivet::make(config.activation, scope);
//
// make() finds the item by the key of the config, loads its plugin if need be, decodes the fields
// into T::Config and calls T(Config, Context&) or T(Config). Whatever leaves the constructor
// arrives as an Error with plugin, key and config path: errors of trivet keep their class, anything
// else becomes a PluginError. An empty config is an Error; ask config.has_value() first.
//
// A base class takes part by declaring its kind, its config and its context.
//
// Example (sdk/examples/snippets/registry.cpp#kind):
//
//   class Bell : public trivet::Object {
//    public:
//     static constexpr std::string_view kKind = "bell";
//     using Config = BellConfig;          // base of every T::Config
//     using Context = trivet::NoContext;  // or what is handed to constructors
//     virtual std::string ring() const = 0;
//   };
//
// A new kind in the SDK is that, exported, with its destructor in kinds.cpp. plugin.h then declares
// the class and has a TRIVET_KIND_ line for it.
//
// There is one registry in a process, in libtrivet.so. All functions may be called from any thread.
// Libraries of plugins are never unloaded, so objects and items stay valid until exit.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/config_of.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"

namespace trivet {

// Of a key, the plugin: "nn" of "nn/Linear".
TRIVET_API std::string_view plugin_of(std::string_view key) noexcept;

// The Context of kinds whose objects need nothing but their config.
struct NoContext {};

// Who registered an item.
struct PluginInfo {
  std::string name{};
  std::string version{};
  std::string file{};  // of the library, for messages
};

// One registered item. TRIVET_PLUGIN fills it in.
struct RegistryItem {
  std::string kind{};
  std::string key{};
  std::string doc{};
  std::string scalar_shorthand{};       // the field that a bare number sets, or empty
  const void* config_token = nullptr;   // tells the config struct of this library
  const Schema& (*schema)() = nullptr;  // null for items without a config
  // The rules of the config struct, see check_rules() in config.h; null where it has none.
  // Of an experiment: its restrictions, asked with a whole config; null when it has none.
  void (*check)(const Value& fields, const std::string& path, Diagnostics& diagnostics) = nullptr;
  void* (*make)(const ConfigValue&, void* context) = nullptr;  // a Base*; null for other items
  Value (*value)() = nullptr;                                  // an experiment's config
  const void* (*table)() = nullptr;  // a C table of functions: backends, collectives
  std::shared_ptr<const PluginInfo> plugin{};
};

// What a plugin's entry offers its items to.
class TRIVET_API Registrar {
 public:
  virtual ~Registrar();
  // [any-thread]
  virtual void add(RegistryItem item) = 0;
};

// Knows plugins that are not loaded yet. The host installs one; without it there is only what was
// added.
class TRIVET_API PluginLoader {
 public:
  virtual ~PluginLoader();
  // Loads the plugin that offers the item, if there is one, so that it is registered on return.
  // Throws PluginError with the reason when there is one that cannot be used. [any-thread]
  virtual void load(std::string_view kind, std::string_view key) = 0;
  // All keys of a kind, loaded or not. [any-thread]
  virtual std::vector<std::string> keys(std::string_view kind) = 0;
  // The items that a bare number in a config selects. [any-thread]
  virtual std::vector<ScalarShorthand> for_number(std::string_view kind) = 0;
  // "searched: /usr/lib/trivet/plugins (cpu, nn, optim)", for messages. [any-thread]
  virtual std::string searched() = 0;
};

class TRIVET_API Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // The loader must outlive the registry or be taken away with null. Returns the one before.
  PluginLoader* set_loader(PluginLoader* loader) noexcept;

  // Adds all items of a plugin or none. Throws PluginError that names both libraries when one of
  // them is taken.
  void add(PluginInfo plugin, std::vector<RegistryItem> items);

  // What is registered now; never loads. Null when there is none.
  const RegistryItem* find(std::string_view kind, std::string_view key) const;
  std::vector<const RegistryItem*> items(std::string_view kind = {}) const;

  // The item, loading its plugin if need be. Throws ConfigError with the nearest names and what was
  // searched when there is none, PluginError when its plugin cannot be used. `where` and `path`
  // tell where the key stands.
  const RegistryItem& get(std::string_view kind, std::string_view key, const Origin& where = {},
                          const std::string& path = {});

  // The Base* that the item's factory makes; see make() below.
  void* make(std::string_view kind, const ConfigValue& config, void* context);

  // Adds what the rules of the item's config struct say of these fields, without making anything.
  // Throws as make() when there is no such item or its plugin cannot be used.
  void check(std::string_view kind, const ConfigValue& config, Diagnostics& diagnostics);

  // An experiment's config. Throws as make().
  Value experiment(std::string_view key);
  // Adds what the restrictions of an experiment say of a whole config that started from it. Throws
  // as make().
  void check_experiment(std::string_view key, const Value& config, Diagnostics& diagnostics);
  // The function table of a key of kind "backend" or "collective". Throws as make().
  const void* table(std::string_view kind, std::string_view key, const Origin& where = {},
                    const std::string& path = {});

  std::optional<ScalarShorthand> for_number(std::string_view kind);
  // The key under which a config struct was registered; throws Error when there is none or more
  // than one.
  std::string key_of_token(std::string_view kind, const void* token) const;
  // The text of the error for a key that nothing offers.
  Diagnostic missing(std::string_view kind, std::string_view key, const Origin& where,
                     const std::string& path);

  // Runs `body` and gives whatever leaves it the name of the item's plugin. Use it around calls of
  // methods, too.
  template <class Body>
  static void guard(const RegistryItem& item, const Origin& where, const std::string& path,
                    const Body& body) {
    guard(item, where, path,
          Call{[](const void* of) { (*static_cast<const Body*>(of))(); }, &body});
  }
  // The item inside whose guard() this thread is, the innermost one; null outside. May be asked in
  // a signal handler.
  static const RegistryItem* current() noexcept;

 private:
  struct State;
  // std::function without its header, which every file with a task would pay for.
  struct Call {
    void (*run)(const void* body);
    const void* body;
  };
  static void guard(const RegistryItem& item, const Origin& where, const std::string& path,
                    Call call);

  std::unique_ptr<State> state_;
};

// The registry of this process.
TRIVET_API Registry& registry();

template <class Base>
std::unique_ptr<Base> make(const ConfigOf<Base>& config, typename Base::Context& context) {
  return std::unique_ptr<Base>(static_cast<Base*>(registry().make(Base::kKind, config, &context)));
}

template <class Base>
requires std::same_as<typename Base::Context, NoContext> std::unique_ptr<Base> make(
    const ConfigOf<Base>& config) {
  return std::unique_ptr<Base>(static_cast<Base*>(registry().make(Base::kKind, config, nullptr)));
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// ConfigOf<Base>: a config of any type registered for Base, or nothing. It is a template for an
// object, not the object: copy it, compare it, store it, and build from it as often as needed with
// make() (registry.h).
//
// Example (sdk/examples/snippets/config_of.cpp#members):
//
//   struct MlpConfig : trivet::ModelConfig {
//     // A key alone: that type with its defaults.
//     trivet::ConfigOf<trivet::Layer> activation = "nn/Relu";
//     std::vector<trivet::ConfigOf<trivet::Layer>> extra;
//   };
//
// In TOML it is a table with a `type`, or just the key, or "none":
//
//   activation = { type = "nn/Gelu", approximate = true }
//   activation = "nn/Gelu"
//   activation = "none"
//
// and, where a plugin marked one of its items with scalar_shorthand, a bare number. In C++ it is
// made from a config struct of the same plugin, or from a key and a table of fields.
//
// Example (sdk/examples/experiment.h#parts):
//
//   RegressorConfig model;
//   model.hidden_dims = {16};
//   task.model = model;
//   task.metrics = {
//       {"examples/RSquared", trivet::Value::table({{"name", "fit"}, {"in_training", true}})}};
//
// The fields stay undecoded until an object is made, so a config may name plugins that are not
// loaded.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "trivet/base/export.h"
#include "trivet/config/value.h"
#include "trivet/error.h"

namespace trivet {

// What all ConfigOf<Base> have in common.
class TRIVET_API ConfigValue {
 public:
  constexpr ConfigValue() noexcept = default;
  constexpr ConfigValue(const ConfigValue& other)
      : literal_(other.literal_),
        literal_size_(other.literal_size_),
        node_(other.node_ != nullptr ? clone(*other.node_) : nullptr) {}
  constexpr ConfigValue(ConfigValue&& other) noexcept { swap(other); }
  constexpr ConfigValue& operator=(const ConfigValue& other) {
    ConfigValue copy(other);
    swap(copy);
    return *this;
  }
  constexpr ConfigValue& operator=(ConfigValue&& other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~ConfigValue() {
    if (node_ != nullptr) destroy(node_);
  }
  ConfigValue(std::string key, Value fields);

  constexpr bool has_value() const noexcept { return literal_ != nullptr || node_ != nullptr; }
  explicit constexpr operator bool() const noexcept { return has_value(); }

  // "plugin/Name"; empty when there is nothing.
  constexpr std::string_view key() const noexcept {
    return node_ != nullptr ? node_key() : std::string_view(literal_, literal_size_);
  }
  const Value& fields() const noexcept;      // a table without `type`
  const std::string& path() const noexcept;  // its path in the config: "task.model"
  const Origin& origin() const noexcept;

  Value to_value() const;  // {type = key, fields...}, or null
  // Reads what TOML may hold for a ConfigOf of this kind; throws ConfigError for anything else.
  static ConfigValue from_value(const Value& value, std::string_view kind, std::string path);

  // Same key and same fields; the location does not matter.
  friend TRIVET_API bool operator==(const ConfigValue& a, const ConfigValue& b);

 protected:
  constexpr ConfigValue(const char* text, std::size_t size) {
    if (std::is_constant_evaluated()) {
      literal_ = text;  // a literal: it lives as long as the library
      literal_size_ = size;
    } else {
      node_ = make_node(std::string_view(text, size));
    }
  }
  // The key registered for a config struct, by the address of its token.
  static std::string key_of_token(std::string_view kind, const void* token);

 private:
  struct Node;
  static Node* make_node(std::string_view key);
  static Node* clone(const Node& node);
  static void destroy(Node* node) noexcept;
  std::string_view node_key() const noexcept;
  constexpr void swap(ConfigValue& other) noexcept {
    std::swap(literal_, other.literal_);
    std::swap(literal_size_, other.literal_size_);
    std::swap(node_, other.node_);
  }

  const char* literal_ = nullptr;
  std::size_t literal_size_ = 0;
  Node* node_ = nullptr;
};

namespace detail {
// One address for each config type and library: it identifies the item of a struct, never RTTI,
// which takes two types of the same name in two plugins for one.
template <class C>
[[gnu::visibility("hidden")]] inline constexpr char kConfigToken = 0;

template <class C>
struct Tag {};
template <class C>
concept Described = requires {
  trivet_config_name(Tag<C>{});
};
}  // namespace detail

template <class C>
Value encode(const C& config);
template <class C>
C decode(const Value& value, std::string_view path = {});

template <class Base>
class ConfigOf : public ConfigValue {
 public:
  constexpr ConfigOf() noexcept = default;
  // A key: the registered type with its defaults.
  template <std::size_t N>
  constexpr ConfigOf(const char (&key)[N]) : ConfigValue(key, N - 1) {}
  ConfigOf(std::string key) : ConfigValue(std::move(key), Value::table()) {}
  ConfigOf(std::string key, Value fields) : ConfigValue(std::move(key), std::move(fields)) {}
  // A config struct that this plugin registered for Base. Throws Error if it did not.
  template <detail::Described C>
  ConfigOf(const C& config)
      : ConfigValue(key_of_token(Base::kKind, &detail::kConfigToken<C>), encode(config)) {}
  explicit ConfigOf(ConfigValue value) : ConfigValue(std::move(value)) {}

  // The fields as a struct; the caller knows which by the key. Throws ConfigError.
  template <class C>
  C decode_as() const {
    return decode<C>(fields(), path());
  }
};

}  // namespace trivet

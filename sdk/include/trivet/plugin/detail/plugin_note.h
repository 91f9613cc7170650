// SPDX-License-Identifier: Apache-2.0
// The parts of TRIVET_PLUGIN: items, the ELF note that the compiler writes from them, and the
// registration that walks the same list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "trivet/config.h"
#include "trivet/plugin/abi.h"
#include "trivet/plugin/abi_tag.h"
#include "trivet/plugin/registry.h"

namespace trivet {

// Who makes the plugin. Name, version and license are mandatory; the name is the part before the
// slash of its keys.
struct About {
  std::string_view name{};     // lower case letters, digits, '_' and '-'
  std::string_view version{};  // 1.2.3
  std::string_view license{};  // an SPDX expression
  std::string_view doc{};
  std::string_view url{};
};

// `learning_rate = 0.1` means this item with that field set. At most one item of a kind should
// claim it.
struct ScalarShorthandField {
  std::string_view field;
};
constexpr ScalarShorthandField scalar_shorthand(std::string_view field) {
  return {field};
}

namespace detail {

struct ItemText {
  std::string_view name;
  std::string_view doc;
  std::string_view scalar_shorthand{};
};

struct NoConfig {};

// An object: T(Config, Context&) or T(Config), derived from Base.
template <class Base, class T>
struct ClassItem : ItemText {
  using Config = typename T::Config;
  static constexpr std::string_view kind() { return Base::kKind; }

  static_assert(std::is_base_of_v<Base, T>, "the class is not derived from the base of its kind");
  static_assert(!std::is_abstract_v<T>,
                "the class does not override all pure virtual functions of its base; look for one "
                "that is missing, or whose parameters or const differ");
  static_assert(std::is_base_of_v<typename Base::Config, Config>,
                "the class's Config is not derived from Base::Config");
  static_assert(Described<Config>, "the class's Config has no TRIVET_CONFIG list");
  static_assert(!has_field<Config>("type"),
                "a Config cannot have a field 'type': files name the class by it");

  static void* make(const ConfigValue& value, [[maybe_unused]] void* context) {
    using Context = typename Base::Context;
    Config config = decode<Config>(value.fields(), value.path());
    if constexpr (std::is_constructible_v<T, Config, Context&>) {
      return static_cast<Base*>(new T(std::move(config), *static_cast<Context*>(context)));
    } else {
      static_assert(std::is_constructible_v<T, Config>,
                    "the class needs a constructor T(Config) or T(Config, Base::Context&); with a "
                    "config struct of its own it also needs `using Config = ..`");
      return static_cast<Base*>(new T(std::move(config)));
    }
  }

  void fill(RegistryItem& item) const {
    item.config_token = &kConfigToken<Config>;
    item.schema = &schema_of<Config>;
    if constexpr (has_rules<Config>()) item.check = &check_rules<Config>;
    item.make = &make;
  }
};

// A C table of functions, given by `const Table* function(void)`, with a struct for its options or
// without.
template <auto* Function, class Options>
struct TableItem : ItemText {
  using Config = Options;
  std::string_view kind_name;
  constexpr std::string_view kind() const { return kind_name; }
  static const void* table() { return Function(); }

  void fill(RegistryItem& item) const {
    item.table = &table;
    if constexpr (!std::same_as<Options, NoConfig>) {
      item.config_token = &kConfigToken<Options>;
      item.schema = &schema_of<Options>;
      if constexpr (has_rules<Options>()) item.check = &check_rules<Options>;
    }
  }
};

// A whole config, given by `ExperimentConfig function()`, and the restrictions on it, if any:
// `void restrictions(const ExperimentConfig&, Diagnostics&)`.
template <auto* Function, auto Restrictions>
struct ExperimentItem : ItemText {
  using Config = NoConfig;
  using Whole = std::remove_cvref_t<decltype(Function())>;
  static constexpr std::string_view kind() { return "experiment"; }
  static Value value() { return encode(Function()); }
  static void check(const Value& config, const std::string& path, Diagnostics& diagnostics) {
    check_rules<Whole>(config, path, diagnostics, Restrictions);
  }
  void fill(RegistryItem& item) const {
    item.value = &value;
    if constexpr (Restrictions != nullptr) item.check = &check;
  }
};

template <class Item, std::same_as<ScalarShorthandField>... Attribute>
constexpr Item with_text(Item item, std::string_view name, std::string_view doc,
                         Attribute... attribute) {
  item.name = name;
  item.doc = doc;
  ((item.scalar_shorthand = attribute.field), ...);
  return item;
}

// As the host has it.
inline constexpr std::size_t kLongestName = 100;

constexpr bool is_plugin_name(std::string_view name) {
  for (const char c : name) {
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-') return false;
  }
  return !name.empty() && name.size() <= kLongestName;
}

constexpr bool is_item_name(std::string_view name) {
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    if (!plain) return false;
  }
  return !name.empty() && name.size() <= kLongestName;
}

template <class... Items>
constexpr bool have_good_names(const std::tuple<Items...>& items) {
  return std::apply([](const auto&... item) { return (is_item_name(item.name) && ...); }, items);
}

template <class... Items>
constexpr bool have_distinct_keys(const std::tuple<Items...>& items) {
  const auto kinds = std::apply(
      [](const auto&... i) {
        return std::array<std::string_view, sizeof...(Items)>{std::string_view(i.kind())...};
      },
      items);
  const auto names = std::apply(
      [](const auto&... i) { return std::array<std::string_view, sizeof...(Items)>{i.name...}; },
      items);
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kinds[i] == kinds[j] && names[i] == names[j]) return false;
    }
  }
  return true;
}

template <class Sink>
constexpr void json_member(Sink& out, const char* key, std::string_view text) {
  out.raw(",\"");
  out.raw(key);
  out.raw("\":");
  json_text(out, text);
}

template <class Sink, class Item>
constexpr void json_item(Sink& out, const About& about, const Item& item) {
  out.raw("{\"kind\":");
  json_text(out, item.kind());
  out.raw(",\"key\":\"");
  out.raw(about.name);
  out.put('/');
  out.raw(item.name);
  out.put('"');
  json_member(out, "doc", item.doc);
  if (!item.scalar_shorthand.empty()) json_member(out, "scalar_shorthand", item.scalar_shorthand);
  if constexpr (!std::same_as<typename Item::Config, NoConfig>) {
    out.raw(",\"schema\":");
    out.raw(SchemaText<typename Item::Config>::view());
  }
  out.put('}');
}

template <class Sink, class... Items>
constexpr void json_note(Sink& out, const About& about, const std::tuple<Items...>& items) {
  out.raw("{\"name\":");
  json_text(out, about.name);
  json_member(out, "version", about.version);
  json_member(out, "license", about.license);
  json_member(out, "doc", about.doc);
  json_member(out, "url", about.url);
  out.raw(",\"sdk\":[");
  json_integer(out, TRIVET_SDK_MAJOR);
  out.put(',');
  json_integer(out, TRIVET_SDK_MINOR);
  out.raw("],\"abi\":{");
  bool first = true;
  for (const AbiField& field : kAbiTag) {
    if (!first) out.put(',');
    first = false;
    json_text(out, field.name);
    out.put(':');
    json_text(out, field.value);
  }
  out.raw("},\"items\":[");
  std::apply(
      [&](const auto&... item) {
        bool leading = true;
        ((leading ? void(leading = false) : out.put(','), json_item(out, about, item)), ...);
      },
      items);
  out.raw("]}");
}

// Elf64_Nhdr, owner, text; the ELF note that the host finds.
template <std::size_t N>
struct alignas(4) Note {
  std::uint32_t owner_size = sizeof(TRIVET_NOTE_OWNER);
  std::uint32_t text_size = N;
  std::uint32_t type = TRIVET_NOTE_TYPE;
  char owner[8] = TRIVET_NOTE_OWNER;
  char text[(N + 3) / 4 * 4]{};
};

template <class... Items>
constexpr std::size_t note_size(const About& about, const std::tuple<Items...>& items) {
  CountingSink sink;
  json_note(sink, about, items);
  return sink.size;
}

template <std::size_t N, class... Items>
constexpr Note<N> make_note(const About& about, const std::tuple<Items...>& items) {
  Note<N> note;
  WritingSink sink{note.text};
  json_note(sink, about, items);
  return note;
}

template <class Item>
void register_item(Registrar& registrar, const About& about, const Item& item) {
  RegistryItem entry;
  entry.kind = item.kind();
  entry.key = std::string(about.name) + "/" + std::string(item.name);
  entry.doc = item.doc;
  entry.scalar_shorthand = item.scalar_shorthand;
  item.fill(entry);
  registrar.add(std::move(entry));
}

// Writes a reason for the host; cut to what fits.
TRIVET_API void copy_reason(const char* reason, char* error, std::size_t error_size) noexcept;

template <class... Items>
int run_init(const trivet_host_v1* host, char* error, std::size_t error_size, const About& about,
             const std::tuple<Items...>& items) noexcept {
  try {
    auto& registrar = *static_cast<Registrar*>(host->registrar);
    std::apply([&](const auto&... item) { (register_item(registrar, about, item), ...); }, items);
    return 0;
  } catch (const std::exception& failure) {
    copy_reason(failure.what(), error, error_size);
  } catch (...) {
    copy_reason("threw something that is not a std::exception", error, error_size);
  }
  return 1;
}

}  // namespace detail
}  // namespace trivet

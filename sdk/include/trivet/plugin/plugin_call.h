// SPDX-License-Identifier: Apache-2.0
// PluginCall: says, as long as it lives, that this thread runs code of a plugin: whose, which of
// its methods, and for what in the config or the model. The words of a crash are made of it. Making
// one costs a few stores, so it may surround every call of a method.
//
// Example (sdk/examples/snippets/errors.cpp#call):
//
//   const Tensor y = in_plugin(item, "fprop", path, [&] { return layer->fprop(x, context); });
//
// This names the plugin in whatever leaves the body as well, as Registry::guard does.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "trivet/base/export.h"
#include "trivet/error.h"

namespace trivet {

struct RegistryItem;

class TRIVET_API PluginCall {
 public:
  // Without an item the call around this one, if any, is still the one that is named. Item and
  // texts must outlive the object; an empty method is the constructor or not known.
  PluginCall(const RegistryItem* item, const char* method, const char* path = "") noexcept;
  ~PluginCall();
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  const RegistryItem& item() const noexcept { return *item_; }
  const char* method() const noexcept { return method_; }
  const char* path() const noexcept { return path_; }

  // The innermost one of this thread; null outside. May be asked in a signal handler.
  static const PluginCall* current() noexcept;

 private:
  const RegistryItem* item_;
  const char* method_;
  const char* path_;
  const PluginCall* outer_;
};

// To be called while an exception is handled: throws it again with the names of plugin, key and
// path, where it does not have them. Errors of trivet keep their class. Any other exception becomes
// a PluginError that names the method, and `usual_path` if there is no other path. Without an item
// the error is rethrown unchanged.
[[noreturn]] TRIVET_API void rethrow_from_plugin(const RegistryItem* item, const char* method,
                                                 const ErrorDetails& details,
                                                 const char* usual_path = "");

template <class Body>
decltype(auto) in_plugin(const RegistryItem* item, const char* method, const std::string& path,
                         Body&& body) {
  const PluginCall call(item, method, path.c_str());
  try {
    return body();
  } catch (...) {
    rethrow_from_plugin(item, method, {.path = path});
  }
}

// The same where it is not known from which location in the config the object was made:
// `usual_path` is where such objects usually stand. Whoever knows better puts it into the errors of
// trivet.
template <class Body>
decltype(auto) in_plugin(const RegistryItem* item, const char* method, const char* usual_path,
                         Body&& body) {
  const PluginCall call(item, method, usual_path);
  try {
    return body();
  } catch (...) {
    rethrow_from_plugin(item, method, {}, usual_path);
  }
}

namespace detail {
// By the table of virtual functions, which is one for each class and library.
TRIVET_API const RegistryItem* item_of_class(const void* table) noexcept;
TRIVET_API void remember_class(const void* object, const RegistryItem& item);
TRIVET_API void forget_class(const RegistryItem& item) noexcept;
}  // namespace detail

// The item whose class an object is of; null when the registry has made none of that class yet.
// `Base` is the base class of a kind.
template <class Base>
const RegistryItem* item_of(const Base& object) noexcept {
  const void* table = nullptr;
  std::memcpy(&table, static_cast<const void*>(&object), sizeof table);
  return detail::item_of_class(table);
}

}  // namespace trivet

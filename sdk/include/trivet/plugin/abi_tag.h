// SPDX-License-Identifier: Apache-2.0
// Everything that changes the layout or the meaning of C++ objects crossing the plugin boundary, as
// named text fields. The compiler writes them into every plugin; the host compares them one by one
// before it opens the library, so that a refusal names the field, both values and the cure.
// `compiler` is for information and is never compared.
#pragma once

#include <version>

#define TRIVET_STRINGIZE_(x) #x
#define TRIVET_STRINGIZE(x) TRIVET_STRINGIZE_(x)

#if defined(__x86_64__)
#define TRIVET_TAG_ARCH "x86_64"
#elif defined(__aarch64__)
#define TRIVET_TAG_ARCH "aarch64"
#else
#error "trivet knows no name for this machine: add one here"
#endif

#if defined(__GLIBCXX__)
#define TRIVET_TAG_STDLIB "libstdc++"
#if _GLIBCXX_USE_CXX11_ABI
#define TRIVET_TAG_STRING "cxx11"
#else
#define TRIVET_TAG_STRING "cow"
#endif
#elif defined(_LIBCPP_VERSION)
#define TRIVET_TAG_STDLIB "libc++"
#define TRIVET_TAG_STRING "abi" TRIVET_STRINGIZE(_LIBCPP_ABI_VERSION)
#else
#error "unknown C++ standard library"
#endif

// Debug containers have another size: a vector of two strings would arrive as an empty one.
#if defined(_GLIBCXX_DEBUG)
#define TRIVET_TAG_DEBUG "glibcxx_debug"
#else
#define TRIVET_TAG_DEBUG "none"
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TRIVET_TAG_SANITIZER "address"
#elif __has_feature(thread_sanitizer)
#define TRIVET_TAG_SANITIZER "thread"
#elif __has_feature(memory_sanitizer)
#define TRIVET_TAG_SANITIZER "memory"
#endif
#endif
#if !defined(TRIVET_TAG_SANITIZER)
#if defined(__SANITIZE_ADDRESS__)
#define TRIVET_TAG_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define TRIVET_TAG_SANITIZER "thread"
#else
#define TRIVET_TAG_SANITIZER "none"
#endif
#endif

#if defined(__GXX_RTTI) || defined(__cpp_rtti)
#define TRIVET_TAG_RTTI "on"
#else
#define TRIVET_TAG_RTTI "off"
#endif

#if defined(__cpp_exceptions)
#define TRIVET_TAG_EXCEPTIONS "on"
#else
#define TRIVET_TAG_EXCEPTIONS "off"
#endif

#if __cplusplus >= 202002L
#define TRIVET_TAG_STANDARD "c++20"
#else
#define TRIVET_TAG_STANDARD "older"
#endif

#if defined(__clang__)
#define TRIVET_TAG_COMPILER "clang-" TRIVET_STRINGIZE(__clang_major__)
#else
#define TRIVET_TAG_COMPILER "gcc-" TRIVET_STRINGIZE(__GNUC__)
#endif

namespace trivet {

struct AbiField {
  const char* name;
  const char* value;
};

namespace detail {
// Switches such as -fpack-struct and -fshort-enums show in these sizes.
struct LayoutCanary {
  char a;
  long long b;
  char c;
};
enum LayoutCanaryEnum { kLayoutCanary };
inline constexpr bool kUsualLayout =
    sizeof(LayoutCanary) == 24 && sizeof(LayoutCanaryEnum) == 4 && sizeof(long double) == 16;
}  // namespace detail

// The tag of the translation unit that includes this header.
inline constexpr AbiField kAbiTag[] = {
    {"arch", TRIVET_TAG_ARCH},
    {"stdlib", TRIVET_TAG_STDLIB},
    {"string", TRIVET_TAG_STRING},
    {"debug", TRIVET_TAG_DEBUG},
    {"sanitizer", TRIVET_TAG_SANITIZER},
    {"rtti", TRIVET_TAG_RTTI},
    {"exceptions", TRIVET_TAG_EXCEPTIONS},
    {"standard", TRIVET_TAG_STANDARD},
    {"layout", detail::kUsualLayout ? "usual" : "altered"},
    {"compiler", TRIVET_TAG_COMPILER},
};

}  // namespace trivet

// The same as one text, for the entry structure.
#define TRIVET_ABI_TAG                                                                   \
  "arch=" TRIVET_TAG_ARCH ";stdlib=" TRIVET_TAG_STDLIB ";string=" TRIVET_TAG_STRING      \
  ";debug=" TRIVET_TAG_DEBUG ";sanitizer=" TRIVET_TAG_SANITIZER ";rtti=" TRIVET_TAG_RTTI \
  ";exceptions=" TRIVET_TAG_EXCEPTIONS ";standard=" TRIVET_TAG_STANDARD                  \
  ";compiler=" TRIVET_TAG_COMPILER

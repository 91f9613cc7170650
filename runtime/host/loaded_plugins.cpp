// SPDX-License-Identifier: Apache-2.0
#include "host/loaded_plugins.h"

#include <elf.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "trivet/config/digest.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

// More than users load. Later plugins are not found by their addresses.
constexpr std::size_t kMostLibraries = 1024;

std::array<PluginCode, kMostLibraries> known_code;
std::atomic<std::size_t> code_count{0};

struct Loaded {
  std::mutex mutex;
  std::vector<LoadedPlugin> plugins;
  std::deque<LoadedPlugin> named;  // known_code points into these
};

Loaded& loaded() {
  static auto& all = *new Loaded;
  return all;
}

struct Library {
  std::uintptr_t inside = 0;  // the search key
  std::uintptr_t begin = 0, end = 0;
  std::string build_id{};
};

std::string hex_of(const unsigned char* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

// Reads memory that the loader has mapped. A sanitizer would report the gap between two notes as
// out of bounds. Copies byte by byte, because sanitizers also check memcpy.
__attribute__((no_sanitize("address"))) std::string mapped(const volatile char* bytes,
                                                           std::size_t size) {
  std::string copy(size, '\0');
  for (std::size_t i = 0; i < size; ++i) copy[i] = bytes[i];
  return copy;
}

// The sizes are those of the accepted file.
std::string build_id_in(const std::string& segment) {
  const char* const notes = segment.data();
  const std::size_t size = segment.size();
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    // Every note has an owner. Zeros are a gap: clang's address sanitizer leaves one after the note
    // of trivet.
    if (note.n_namesz == 0) {
      at += sizeof(ElfW(Word));
      continue;
    }
    const std::size_t owner = at + sizeof note;
    const std::size_t content = owner + ((std::size_t{note.n_namesz} + 3) & ~std::size_t{3});
    if (content > size || note.n_descsz > size - content) return {};
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes + owner, "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID) {
      return hex_of(reinterpret_cast<const unsigned char*>(notes + content), note.n_descsz);
    }
    at = content + ((std::size_t{note.n_descsz} + 3) & ~std::size_t{3});
  }
  return {};
}

bool contains(const dl_phdr_info& info, std::uintptr_t address) {
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz) return true;
  }
  return false;
}

int look_at(dl_phdr_info* info, std::size_t, void* data) {
  Library& library = *static_cast<Library*>(data);
  if (!contains(*info, library.inside)) return 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      if (library.end == 0) library.begin = begin;
      library.end = begin + part.p_memsz;
    }
    if (part.p_type == PT_NOTE && library.build_id.empty()) {
      library.build_id = build_id_in(mapped(reinterpret_cast<const char*>(begin), part.p_filesz));
    }
  }
  return 1;
}

// A file that can no longer be read has no digest, so the record lacks it.
std::string digest_of(const Library& library, const std::filesystem::path& file) {
  if (!library.build_id.empty()) return "build-id:" + library.build_id;
  try {
    return "xxh3:" + digest(read_text_file(file, std::uint64_t{1} << 30));
  } catch (const std::exception&) {
    return {};
  }
}

// The caller holds the mutex.
void keep_code(Loaded& all, const Library& library, const LoadedPlugin& plugin) {
  const std::size_t at = code_count.load();
  if (library.end == 0 || at == kMostLibraries) return;
  const LoadedPlugin& kept = all.named.emplace_back(plugin);
  known_code[at] = {library.begin, library.end, kept.name.c_str(), kept.file.c_str()};
  code_count.store(at + 1, std::memory_order_release);
}

}  // namespace

std::vector<LoadedPlugin> loaded_plugins() {
  Loaded& all = loaded();
  const std::lock_guard lock(all.mutex);
  return all.plugins;
}

void note_loaded(LoadedPlugin plugin, const void* inside) {
  Library library{.inside = reinterpret_cast<std::uintptr_t>(inside)};
  dl_iterate_phdr(&look_at, &library);
  plugin.digest = digest_of(library, plugin.file);
  Loaded& all = loaded();
  const std::lock_guard lock(all.mutex);
  keep_code(all, library, plugin);
  all.plugins.push_back(std::move(plugin));
}

const PluginCode* plugin_at(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::size_t count = code_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    if (at >= known_code[i].begin && at < known_code[i].end) return &known_code[i];
  }
  return nullptr;
}

}  // namespace trivet

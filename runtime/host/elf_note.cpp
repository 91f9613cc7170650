// SPDX-License-Identifier: Apache-2.0
#include "host/elf_note.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "trivet/plugin/abi.h"

namespace trivet {
namespace {

// More headers than any linker writes; a table may claim 65535.
constexpr unsigned kMostSegments = 512;
constexpr unsigned kMostSections = 4096;
constexpr std::uint64_t kMostSymbols = 1 << 20;
constexpr std::uint64_t kMostDynamic = 1 << 12;
// The prefixes of mangled names that identify their owner.
constexpr std::size_t kNameStart = 256;

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#endif
static_assert(std::endian::native == std::endian::little);

class ElfReader {
 public:
  explicit ElfReader(int descriptor) : descriptor_(descriptor) {}

  PluginNote read() {
    PluginNote note;
    note.error = check_header();
    if (note.error.empty()) note.error = search_segments();
    if (note.error.empty() && text_.empty()) search_sections();
    if (note.error.empty() && text_.empty()) {
      note.error = "not a trivet plugin: it has no trivet note";
    }
    if (note.error.empty()) note.error = shared_name_objection();
    if (note.error.empty()) note.error = library_objection();
    if (note.error.empty()) note.text = std::move(text_);
    return note;
  }

 private:
  bool contains(std::uint64_t offset, std::uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }

  // Reads small parts through a window, since every command looks at every plugin.
  bool get(std::uint64_t offset, void* out, std::size_t length) const {
    if (!contains(offset, length)) return false;
    if (length == 0) return true;
    if (length > window_.size()) return read_at(offset, out, length);
    if (offset < window_start_ || offset + length > window_end_) {
      const std::uint64_t end = std::min<std::uint64_t>(size_, offset + window_.size());
      window_start_ = window_end_ = offset;
      if (!read_at(offset, window_.data(), end - offset)) return false;
      window_end_ = end;
    }
    std::memcpy(out, window_.data() + (offset - window_start_), length);
    return true;
  }

  bool read_at(std::uint64_t offset, void* out, std::size_t length) const {
    std::size_t done = 0;
    while (done < length) {
      const ssize_t count = pread(descriptor_, static_cast<char*>(out) + done, length - done,
                                  static_cast<off_t>(offset + done));
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }

  std::string check_header();
  std::string search_segments();
  void search_sections();
  void search_notes(std::uint64_t offset, std::uint64_t length);
  bool section(unsigned index, Elf64_Shdr& out) const;
  std::string shared_name_objection() const;
  std::string shared_name_in(const Elf64_Shdr& symbols, const Elf64_Shdr& names) const;
  std::string library_objection() const;
  std::string name_at(const Elf64_Shdr& names, std::uint64_t offset) const;

  int descriptor_;
  std::uint64_t size_ = 0;
  mutable std::array<char, 4096> window_{};
  mutable std::uint64_t window_start_ = 0, window_end_ = 0;
  Elf64_Ehdr header_{};
  std::string text_;
};

std::string ElfReader::check_header() {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || status.st_size <= 0) {
    return "not a shared library: the file is empty";
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  unsigned char magic[SELFMAG] = {};
  if (!get(0, magic, sizeof magic) || std::memcmp(magic, ELFMAG, SELFMAG) != 0) {
    return "not a shared library: it does not start as an ELF file";
  }
  if (!get(0, &header_, sizeof header_)) return "truncated: the ELF header is incomplete";
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
      header_.e_machine != kMachine) {
    return fmt::format("built for another machine (ELF machine {}, class {})", header_.e_machine,
                       header_.e_ident[EI_CLASS]);
  }
  if (header_.e_type != ET_DYN) return "an ELF file, but not a shared library";
  if (header_.e_shoff != 0 && !contains(header_.e_shoff, std::uint64_t{header_.e_shnum} *
                                                             std::uint64_t{header_.e_shentsize})) {
    return "truncated: section headers are past the end of the file";
  }
  return {};
}

std::string ElfReader::search_segments() {
  if (header_.e_phnum == 0 || header_.e_phentsize != sizeof(Elf64_Phdr)) {
    return "damaged: it has no program headers";
  }
  if (!contains(header_.e_phoff, std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr))) {
    return "truncated: program headers are past the end of the file";
  }
  for (unsigned i = 0; i < header_.e_phnum && i < kMostSegments; ++i) {
    Elf64_Phdr segment{};
    if (!get(header_.e_phoff + i * sizeof segment, &segment, sizeof segment)) {
      return "unreadable program headers";
    }
    if (segment.p_type == PT_LOAD && !contains(segment.p_offset, segment.p_filesz)) {
      return "truncated: a segment ends past the end of the file";
    }
    if (segment.p_type == PT_NOTE) search_notes(segment.p_offset, segment.p_filesz);
  }
  return {};
}

void ElfReader::search_sections() {
  if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) return;
  Elf64_Shdr part{};
  for (unsigned i = 0; section(i, part) && text_.empty(); ++i) {
    if (part.sh_type == SHT_NOTE) search_notes(part.sh_offset, part.sh_size);
  }
}

// Returns false after the last one that is read.
bool ElfReader::section(unsigned index, Elf64_Shdr& out) const {
  return index < header_.e_shnum && index < kMostSections &&
         header_.e_shentsize == sizeof(Elf64_Shdr) && header_.e_shoff != 0 &&
         get(header_.e_shoff + index * sizeof out, &out, sizeof out);
}

// A tool has removed the section headers. The library is accepted.
std::string ElfReader::shared_name_objection() const {
  Elf64_Shdr symbols{}, names{};
  for (unsigned i = 0; section(i, symbols); ++i) {
    if (symbols.sh_type != SHT_DYNSYM || !section(symbols.sh_link, names)) continue;
    const std::string name = shared_name_in(symbols, names);
    if (name.empty()) return {};
    return fmt::format(
        "it shares variables with other plugins ({}...): two config structs of the same name "
        "would get each other's values; link it with the flags of pkg-config --libs trivet-sdk",
        name.substr(0, 60));
  }
  return {};
}

// The first unique symbol that comes from a template of the SDK; empty if there is none.
std::string ElfReader::shared_name_in(const Elf64_Shdr& symbols, const Elf64_Shdr& names) const {
  std::vector<Elf64_Sym> table(
      std::min({symbols.sh_size, size_, kMostSymbols * sizeof(Elf64_Sym)}) / sizeof(Elf64_Sym));
  if (!get(symbols.sh_offset, table.data(), table.size() * sizeof(Elf64_Sym))) return {};
  for (const Elf64_Sym& symbol : table) {
    const bool defined = symbol.st_shndx != SHN_UNDEF;
    if (!defined || ELF64_ST_BIND(symbol.st_info) != STB_GNU_UNIQUE) continue;
    const std::string name = name_at(names, symbol.st_name);
    if (name.find("6trivet") != std::string::npos) return name;
  }
  return {};
}

// The name at an offset in a table of names, truncated. Empty if there is none.
std::string ElfReader::name_at(const Elf64_Shdr& names, std::uint64_t offset) const {
  char name[kNameStart] = {};
  if (offset >= names.sh_size) return {};
  const std::uint64_t length = std::min<std::uint64_t>(sizeof name - 1, names.sh_size - offset);
  return get(names.sh_offset + offset, name, length) ? name : std::string();
}

// Two C++ libraries in one process cannot catch each other's exceptions.
std::string ElfReader::library_objection() const {
  Elf64_Shdr dynamic{}, names{};
  bool of_trivet = false;
  for (unsigned i = 0; section(i, dynamic); ++i) {
    if (dynamic.sh_type != SHT_DYNAMIC || !section(dynamic.sh_link, names)) continue;
    std::vector<Elf64_Dyn> entries(
        std::min({dynamic.sh_size, size_, kMostDynamic * sizeof(Elf64_Dyn)}) / sizeof(Elf64_Dyn));
    if (!get(dynamic.sh_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn))) return {};
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag != DT_NEEDED) continue;
      const std::string library = name_at(names, entry.d_un.d_val);
      if (library.starts_with("libstdc++.so")) return {};
      of_trivet = of_trivet || library.starts_with("libtrivet.so");
    }
  }
  return of_trivet ? "it contains its own C++ library instead of libstdc++.so, which this program "
                     "uses: link it without -static-libstdc++"
                   : std::string();
}

void ElfReader::search_notes(std::uint64_t offset, std::uint64_t length) {
  const auto padded = [](std::uint64_t n) { return (n + 3) & ~std::uint64_t{3}; };
  if (!text_.empty() || !contains(offset, length)) return;
  std::uint64_t at = 0;
  Elf64_Nhdr note{};
  while (at + sizeof note <= length) {
    if (!get(offset + at, &note, sizeof note)) return;
    const std::uint64_t owner = at + sizeof note;
    const std::uint64_t content = owner + padded(note.n_namesz);
    if (content > length || note.n_descsz > length - content) return;
    if (note.n_type == TRIVET_NOTE_TYPE && note.n_namesz == sizeof(TRIVET_NOTE_OWNER)) {
      char name[sizeof(TRIVET_NOTE_OWNER)] = {};
      if (!get(offset + owner, name, sizeof name)) return;
      if (std::memcmp(name, TRIVET_NOTE_OWNER, sizeof name) == 0) {
        if (note.n_descsz > kLargestNote) return;
        std::string text(note.n_descsz, '\0');
        if (get(offset + content, text.data(), text.size())) text_ = std::move(text);
        return;
      }
    }
    at = content + padded(note.n_descsz);
  }
}

}  // namespace

PluginNote read_plugin_note(int descriptor) {
  return ElfReader(descriptor).read();
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// A library in a plugin folder, read before any of its code runs: its note, the manifest in the
// note, and the schemas in the manifest. Bytes that are not an ELF file are read as a manifest.
#include <elf.h>

#include <cstring>

#include "fuzz_target.h"
#include "host/elf_note.h"
#include "host/manifest.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"
#include "trivet/plugin.h"
#include "trivet/schedule.h"

namespace fuzz {

enum class Mode { calm, wild };
TRIVET_ENUM(Mode, calm, wild)

struct TermConfig {
  std::string name = "";
  std::vector<double> weights = {0.5, 1};
};
TRIVET_CONFIG(TermConfig, trivet::NoBase, (name, "Its name.", required),
              (weights, "Numbers.", at_least(0), alias("factors")))

struct SumConfig : trivet::ScheduleConfig {
  Mode mode = Mode::calm;
  trivet::Interval interval = 3;
  trivet::Duration wait = 60;
  trivet::Map<std::int64_t> counts;
  std::vector<TermConfig> terms;
  trivet::ConfigOf<trivet::Schedule> inner;
  std::optional<bool> on;
  trivet::Path file;
};
TRIVET_CONFIG(SumConfig, trivet::ScheduleConfig, (mode, "One of two."),
              (interval, "Steps or time."), (wait, "Time."), (counts, "By name."),
              (terms, "Tables."), (inner, "Another."), (on, "If any."), (file, "A location."))

class Sum final : public trivet::Schedule {
 public:
  using Config = SumConfig;
  explicit Sum(const Config& config) : size_(static_cast<double>(config.terms.size())) {}
  double value(std::int64_t) const override { return size_; }

 private:
  double size_;
};

}  // namespace fuzz

TRIVET_PLUGIN(({.name = "fuzz", .version = "1.0.0", .license = "MIT", .doc = "For its note."}),
              trivet::schedule<fuzz::Sum>("Sum", "A sum.", trivet::scalar_shorthand("wait")))

namespace trivet::test {
namespace {

const std::string& good_note() {
  static const std::string bytes(reinterpret_cast<const char*>(&trivet_plugin_note_v1),
                                 sizeof trivet_plugin_note_v1);
  return bytes;
}

template <class T>
std::string header_bytes(const T& header) {
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

Elf64_Ehdr library_header() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_type = ET_DYN;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  return header;
}

// The smallest libraries with the note: found through a segment, or only through a section.
std::string library_by_segment() {
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof(Elf64_Ehdr) + sizeof segment;
  segment.p_filesz = good_note().size();
  return header_bytes(library_header()) + header_bytes(segment) + good_note();
}

std::string library_by_section() {
  Elf64_Ehdr header = library_header();
  header.e_shoff = sizeof header + sizeof(Elf64_Phdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  Elf64_Shdr section{};
  section.sh_type = SHT_NOTE;
  section.sh_offset = header.e_shoff + sizeof section;
  section.sh_size = good_note().size();
  return header_bytes(header) + header_bytes(Elf64_Phdr{}) + header_bytes(section) + good_note();
}

}  // namespace

bool accepts_plugin(std::string_view bytes) {
  std::string text(bytes);
  if (bytes.starts_with(ELFMAG)) {
    const MemoryFile library(bytes);
    const PluginNote note = read_plugin_note(library.descriptor());
    promise(note.error.empty() != note.text.empty(), "a library has neither note nor error");
    promise(note.text.size() <= kLargestNote, "a note is larger than any");
    if (!note.error.empty()) return false;
    text = note.text;
  }
  try {
    const Manifest manifest = parse_manifest(text);
    (void)abi_objection(manifest);
    for (const ManifestItem& item : manifest.items) {
      promise(manifest.find(item.kind, item.key) != nullptr, "an item is not found by its key");
      if (!item.schema_json.empty()) (void)schema_from_json(item.schema_json);
    }
    return true;
  } catch (const Error& refused) {
    promise(!refused.message().empty(), "a note is refused without a reason");
    return false;
  }
}

std::vector<std::string> plugin_seeds() {
  const MemoryFile library(library_by_segment());
  return {library_by_segment(), library_by_section(), read_plugin_note(library.descriptor()).text};
}

}  // namespace trivet::test

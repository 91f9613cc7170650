// SPDX-License-Identifier: Apache-2.0
// An untrusted weights file: refused, or every byte of every entry is readable, and the written
// entries read back the same.
#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "fuzz_target.h"
#include "support/shell.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"

namespace trivet::test {
namespace {

bool same(const SafetensorsEntry& a, const SafetensorsEntry& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape &&
         std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end());
}

// The bytes of a file of these entries.
std::string file_of(const std::vector<SafetensorsEntry>& entries,
                    const std::map<std::string, std::string>& metadata = {}) {
  const MemoryFile file;
  write_safetensors(file.path(), entries, metadata);
  return read_file(file.path());
}

}  // namespace

bool accepts_safetensors(std::string_view bytes) {
  const MemoryFile given(bytes), written;
  std::optional<SafetensorsFile> file;
  try {
    file.emplace(given.path());
  } catch (const Error& refused) {
    promise(!refused.message().empty(), "a file is refused without a reason");
    return false;
  }
  write_safetensors(written.path(), file->entries(), file->metadata());
  const SafetensorsFile again(written.path());
  promise(std::equal(file->entries().begin(), file->entries().end(), again.entries().begin(),
                     again.entries().end(), same),
          "entries are not the same once they are written");
  promise(file->metadata() == again.metadata(), "metadata is not the same once it is written");
  for (const SafetensorsEntry& entry : file->entries()) {
    promise(file->find(entry.name) == &entry, "an entry is not found by its name");
  }
  return true;
}

std::vector<std::string> safetensors_seeds() {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const auto data = std::as_bytes(std::span(numbers));
  return {
      file_of({{"w", DType::f32, {2, 3}, data}}),
      file_of({{"layer/w", DType::bf16, {12}, data},
               {"empty", DType::i32, {0, 4}, {}},
               {"one", DType::f32, {}, data.first(4)},
               {"bytes \xc3\xa9", DType::u8, {1, 1, 1, 1, 1, 3}, data.first(3)}},
              {{"format", "pt"}, {"note", "\"\n"}}),
      file_of({}),
  };
}

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
// An untrusted token file of trivet, llm.c or nanoGPT: refused, or all ids that its header declares
// are readable and inside the vocabulary, and documents are in order.
#include <filesystem>

#include "data/tokens/mapped_tokens.h"
#include "fuzz_target.h"
#include "support/shell.h"
#include "trivet/error.h"

namespace trivet::test {
namespace {

// Whether the bytes are a file in this layout.
bool accepts_layout(const std::string& file, data::TokenLayout layout, bool verify) {
  try {
    std::vector<data::TokenFile> files;
    files.emplace_back(file, layout);
    const std::int64_t vocabulary = files[0].header().vocabulary_size;
    const std::int64_t declared = files[0].tokens();
    const data::MappedTokens tokens(std::move(files), 2, 0, verify);
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < tokens.documents(); ++i) {
      const std::int64_t length = tokens.length(i);
      promise(length >= 0, "a document has a negative length");
      total += length;
      std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
      tokens.read(i, 0, ids);
      for (const std::int32_t id : ids) {
        promise(id >= 0 && (vocabulary == 0 || id < vocabulary), "an id is out of range");
      }
    }
    promise(total == declared, "documents have not the ids of the file");
    return true;
  } catch (const InputError& refused) {
    promise(!refused.message().empty(), "a file is refused without a reason");
    return false;
  }
}

std::string own_file(int width, const std::vector<std::vector<std::int32_t>>& documents) {
  data::TokenFileHeader header;
  header.width = width;
  header.vocabulary_size = 300;
  header.bos = 0;
  data::TokenFileWriter writer(header);
  for (const auto& ids : documents) writer.add(ids);
  const TempDir folder;
  writer.write((folder / "a.bin").string());
  return read_file(folder / "a.bin");
}

// i32[256] header of llm.c with these numbers in front, then the bytes.
std::string llm_c_file(std::vector<std::int32_t> header, const std::string& ids) {
  header.resize(256);
  return std::string(reinterpret_cast<const char*>(header.data()), 1024) + ids;
}

}  // namespace

bool accepts_tokens(std::string_view bytes) {
  const MemoryFile given(bytes);
  const std::string file = given.path().string();
  bool accepted = accepts_layout(file, data::TokenLayout::by_header, true);
  accepted |= accepts_layout(file, data::TokenLayout::by_header, false);
  accepted |= accepts_layout(file, data::TokenLayout::nanogpt, false);
  return accepted;
}

std::vector<std::string> token_seeds() {
  const std::string four("\1\0\2\0\3\0\4\0", 8);
  return {own_file(2, {{3, 4, 299}, {}, {5}}), own_file(4, {{3, 4}, {299}}),
          llm_c_file({20240520, 1, 4}, four), llm_c_file({20240801, 7, 2}, four), four};
}

}  // namespace trivet::test

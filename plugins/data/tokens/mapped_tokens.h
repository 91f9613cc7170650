// SPDX-License-Identifier: Apache-2.0
// Reads the documents of token files through a mapping.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/formats/token_file.h"
#include "data/tokens/token_store.h"

namespace trivet::data {

class MappedTokens final : public TokenStore {
 public:
  // Documents of files without an index end after each `document_end`, which needs one pass over
  // the file, or else at the end of the file. Ids are checked when they are read: each must be
  // below its file's vocabulary size and below `vocabulary_size` (0: no limit). `verify` calls
  // TokenFile::verify for each file. Throws InputError.
  MappedTokens(std::vector<TokenFile> files, std::optional<std::int32_t> document_end,
               std::int64_t vocabulary_size, bool verify);

  std::int64_t documents() const override { return static_cast<std::int64_t>(ends_.size()); }
  std::int64_t length(std::int64_t document) const override;
  void read(std::int64_t document, std::int64_t begin, std::span<std::int32_t> out) const override;
  std::string fingerprint() const override { return fingerprint_; }

 private:
  struct Part {
    TokenFile file;
    std::int64_t limit;              // of its ids
    std::int64_t documents_end = 0;  // documents up to and including this file
  };
  const Part& part_of(std::int64_t document) const;
  std::int64_t start(std::int64_t document) const;
  static void check_ids(const Part& part);
  void find_documents(const Part& part, std::int32_t document_end);

  std::vector<Part> parts_;
  std::vector<std::int64_t> ends_;  // of documents, in their file
  std::string fingerprint_;
};

}  // namespace trivet::data

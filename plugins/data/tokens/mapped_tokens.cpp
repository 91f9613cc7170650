// SPDX-License-Identifier: Apache-2.0
#include "data/tokens/mapped_tokens.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "trivet/config/digest.h"

namespace trivet::data {
namespace {

constexpr std::int64_t kAnyId = std::int64_t{1} << 31;

std::int64_t limit_of(const TokenFile& file, std::int64_t vocabulary_size) {
  std::int64_t limit = vocabulary_size > 0 ? vocabulary_size : kAnyId;
  if (file.header().vocabulary_size > 0) limit = std::min(limit, file.header().vocabulary_size);
  return limit;
}

}  // namespace

MappedTokens::MappedTokens(std::vector<TokenFile> files, std::optional<std::int32_t> document_end,
                           std::int64_t vocabulary_size, bool verify) {
  std::string digests;
  parts_.reserve(files.size());
  for (TokenFile& file : files) {
    digests += verify ? file.verify() : file.cheap_digest();
    const std::int64_t limit = limit_of(file, vocabulary_size);
    Part& part = parts_.emplace_back(Part{std::move(file), limit});
    if (verify) check_ids(part);
    if (part.file.header().has_index) {
      for (std::int64_t i = 0; i < part.file.documents(); ++i) ends_.push_back(part.file.end_of(i));
    } else if (document_end) {
      find_documents(part, *document_end);
    } else if (part.file.tokens() > 0) {
      ends_.push_back(part.file.tokens());
    }
    part.documents_end = documents();
  }
  const std::string_view ends(reinterpret_cast<const char*>(ends_.data()), ends_.size() * 8);
  fingerprint_ = digest(digests + digest(ends));
}

// Reads all ids, since reading checks them.
void MappedTokens::check_ids(const Part& part) {
  std::vector<std::int32_t> ids(std::size_t{1} << 16);
  const std::int64_t tokens = part.file.tokens();
  for (std::int64_t at = 0; at < tokens; at += std::ssize(ids)) {
    const auto count = std::min(tokens - at, std::ssize(ids));
    part.file.read(at, std::span(ids).first(static_cast<std::size_t>(count)), part.limit);
  }
}

void MappedTokens::find_documents(const Part& part, std::int32_t document_end) {
  std::vector<std::int32_t> ids(std::size_t{1} << 16);
  const std::int64_t tokens = part.file.tokens();
  for (std::int64_t at = 0; at < tokens; at += static_cast<std::int64_t>(ids.size())) {
    ids.resize(static_cast<std::size_t>(
        std::min<std::int64_t>(tokens - at, static_cast<std::int64_t>(ids.size()))));
    part.file.read(at, ids, part.limit);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == document_end) ends_.push_back(at + static_cast<std::int64_t>(i) + 1);
    }
  }
  const std::int64_t first = parts_.size() > 1 ? parts_[parts_.size() - 2].documents_end : 0;
  const bool any = documents() > first;
  if (tokens > 0 && (!any || ends_.back() < tokens)) ends_.push_back(tokens);
}

const MappedTokens::Part& MappedTokens::part_of(std::int64_t document) const {
  return *std::upper_bound(
      parts_.begin(), parts_.end(), document,
      [](std::int64_t wanted, const Part& part) { return wanted < part.documents_end; });
}

std::int64_t MappedTokens::start(std::int64_t document) const {
  const Part& part = part_of(document);
  const bool first = &part == parts_.data() ? document == 0 : document == (&part)[-1].documents_end;
  return first ? 0 : ends_[static_cast<std::size_t>(document - 1)];
}

std::int64_t MappedTokens::length(std::int64_t document) const {
  return ends_[static_cast<std::size_t>(document)] - start(document);
}

void MappedTokens::read(std::int64_t document, std::int64_t begin,
                        std::span<std::int32_t> out) const {
  const Part& part = part_of(document);
  part.file.read(start(document) + begin, out, part.limit);
}

}  // namespace trivet::data

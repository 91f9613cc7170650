// SPDX-License-Identifier: Apache-2.0
// TokenStore: the token ids of documents.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace trivet::data {

class TokenStore {
 public:
  virtual ~TokenStore() = default;
  TokenStore(const TokenStore&) = delete;
  TokenStore& operator=(const TokenStore&) = delete;

  virtual std::int64_t documents() const = 0;
  virtual std::int64_t length(std::int64_t document) const = 0;
  // The number of leading ids of a document that are inputs: context without a loss (prefix
  // language models).
  virtual std::int64_t inputs(std::int64_t) const { return 0; }
  // The number of leading ids that have no loss where only targets have one: the inputs, and, where
  // targets have a suffix, the targets.
  virtual std::int64_t unweighted(std::int64_t document) const { return inputs(document); }
  // The number of the document's task.
  virtual std::int32_t task(std::int64_t) const { return 0; }
  // Texts of the document that no model sees.
  virtual std::span<const std::string> features(std::int64_t) const { return {}; }
  // Reads ids begin, begin + 1, ... of a document. [any-thread]
  virtual void read(std::int64_t document, std::int64_t begin,
                    std::span<std::int32_t> out) const = 0;
  // Differs if ids or document boundaries differ.
  virtual std::string fingerprint() const = 0;

 protected:
  TokenStore() = default;
};

// Ids in memory: 2 bytes each if the vocabulary allows it, else 4.
class MemoryTokens final : public TokenStore {
 public:
  explicit MemoryTokens(std::int64_t vocabulary_size);

  // A document may have texts that no model sees; then all have as many.
  void add(std::span<const std::int32_t> ids, std::int64_t inputs = 0, std::int64_t suffix = 0,
           std::vector<std::string> features = {}, std::int32_t task = 0);

  std::int64_t documents() const override { return static_cast<std::int64_t>(ends_.size()); }
  std::int64_t length(std::int64_t document) const override;
  std::int64_t inputs(std::int64_t document) const override;
  std::int64_t unweighted(std::int64_t document) const override;
  std::int32_t task(std::int64_t document) const override;
  std::span<const std::string> features(std::int64_t document) const override;
  void read(std::int64_t document, std::int64_t begin, std::span<std::int32_t> out) const override;
  std::string fingerprint() const override;

 private:
  std::int64_t start(std::int64_t document) const;

  std::variant<std::vector<std::uint16_t>, std::vector<std::int32_t>> ids_;
  std::vector<std::int64_t> ends_;      // of documents, in ids_
  std::vector<std::int64_t> inputs_;    // of documents; empty while all are 0
  std::vector<std::int64_t> suffixes_;  // the same for the number of ids of a suffix
  std::vector<std::int32_t> tasks_;     // the same for the number of the task
  std::vector<std::vector<std::string>> features_;
};

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
// Reads config.json of a Hugging Face model field by field. A missing field, a field of another
// type and an unsupported value are a UsageError that names file and field.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/config/value.h"

namespace trivet::lm {

class HfConfig {
 public:
  explicit HfConfig(const std::filesystem::path& file);

  // At least 1. Without `otherwise` the field is required; null counts as missing.
  std::int64_t size(std::string_view name, std::optional<std::int64_t> otherwise = {}) const;
  std::int64_t layers(std::string_view name) const;              // a size of at most 100000
  double number(std::string_view name, double otherwise) const;  // above 0
  bool flag(std::string_view name, bool otherwise) const;
  std::string text(std::string_view name, std::optional<std::string> otherwise = {}) const;
  // A token id, or the first of a list of them.
  std::optional<std::int32_t> token(std::string_view name) const;
  // Returns null if the field is missing or null.
  const Value* find(std::string_view path) const;
  // Throws UsageError if the field exists and differs from `value`.
  void require(std::string_view name, const Value& value) const;
  [[noreturn]] void refuse(std::string_view name, const std::string& what,
                           std::string hint = {}) const;

 private:
  std::string file_;
  Value root_;
};

}  // namespace trivet::lm

// SPDX-License-Identifier: Apache-2.0
// config.json of a published model, read field by field. What is missing, of another type or not
// supported is a UsageError that names the file and the field.
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

  // At least 1. Without `otherwise` the field must be there; null counts as missing.
  std::int64_t size(std::string_view name, std::optional<std::int64_t> otherwise = {}) const;
  std::int64_t layers(std::string_view name) const;  // a size that is no more than 100000
  double number(std::string_view name, double otherwise) const;  // more than 0
  bool flag(std::string_view name, bool otherwise) const;
  std::string text(std::string_view name, std::optional<std::string> otherwise = {}) const;
  // A token id, or the first of a list of them.
  std::optional<std::int32_t> token(std::string_view name) const;
  // Null where it is missing or null.
  const Value* find(std::string_view path) const;
  // Throws where the field is there and is not `value`.
  void require(std::string_view name, const Value& value) const;
  [[noreturn]] void refuse(std::string_view name, const std::string& what,
                           std::string hint = {}) const;

 private:
  std::string file_;
  Value root_;
};

}  // namespace trivet::lm

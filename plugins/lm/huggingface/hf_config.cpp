// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/hf_config.h"

#include <limits>
#include <utility>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::lm {
namespace {

Value read(const std::filesystem::path& file) {
  try {
    Value root = value_from_json(read_text_file(file), file.string());
    if (root.is_table()) return root;
  } catch (const RunError& failure) {
    throw UsageError(failure.message(), {.hint = "the model's config.json describes its tensors"});
  }
  throw UsageError(file.string() + " is not a config.json: expected an object");
}

}  // namespace

HfConfig::HfConfig(const std::filesystem::path& file) : file_(file.string()), root_(read(file)) {}

void HfConfig::refuse(std::string_view name, const std::string& what, std::string hint) const {
  throw UsageError(file_ + ": \"" + std::string(name) + "\" " + what, {.hint = std::move(hint)});
}

const Value* HfConfig::find(std::string_view path) const {
  const Value* value = root_.find_path(path);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::int64_t HfConfig::size(std::string_view name, std::optional<std::int64_t> otherwise) const {
  const Value* value = find(name);
  if (value == nullptr && otherwise) return *otherwise;
  if (value == nullptr) refuse(name, "is missing");
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (!value->is_integer() || value->as_integer() < 1 || value->as_integer() > kMost) {
    refuse(name, "is " + to_json(*value) + ", not an integer of at least 1");
  }
  return value->as_integer();
}

std::int64_t HfConfig::layers(std::string_view name) const {
  constexpr std::int64_t kMost = 100000;
  const std::int64_t layers = size(name);
  if (layers > kMost) refuse(name, "is more than " + std::to_string(kMost));
  return layers;
}

double HfConfig::number(std::string_view name, double otherwise) const {
  const Value* value = find(name);
  if (value == nullptr) return otherwise;
  const bool is_number = value->is_float() || value->is_integer();
  if (!is_number || !(value->as_float() > 0) ||
      value->as_float() > std::numeric_limits<double>::max()) {
    refuse(name, "is " + to_json(*value) + ", not a number above 0");
  }
  return value->as_float();
}

bool HfConfig::flag(std::string_view name, bool otherwise) const {
  const Value* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) refuse(name, "is " + to_json(*value) + ", not true or false");
  return value->as_boolean();
}

std::string HfConfig::text(std::string_view name, std::optional<std::string> otherwise) const {
  const Value* value = find(name);
  if (value == nullptr && otherwise) return *otherwise;
  if (value == nullptr) refuse(name, "is missing");
  if (!value->is_string()) refuse(name, "is " + to_json(*value) + ", not a text");
  return value->as_string();
}

std::optional<std::int32_t> HfConfig::token(std::string_view name) const {
  const Value* value = find(name);
  if (value != nullptr && value->is_array() && !value->items().empty()) value = &value->items()[0];
  if (value == nullptr) return {};
  if (!value->is_integer() || value->as_integer() < 0 ||
      value->as_integer() > std::numeric_limits<std::int32_t>::max()) {
    refuse(name, "is " + to_json(*value) + ", not a token id");
  }
  return static_cast<std::int32_t>(value->as_integer());
}

void HfConfig::require(std::string_view name, const Value& wanted) const {
  const Value* value = find(name);
  if (value == nullptr || *value == wanted) return;
  const bool numbers = value->is_integer() && wanted.is_float();
  if (numbers && value->as_float() == wanted.as_float()) return;
  refuse(name, "is " + to_json(*value) + ", and only " + to_json(wanted) + " is supported");
}

}  // namespace trivet::lm

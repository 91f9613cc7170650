// SPDX-License-Identifier: Apache-2.0
#include "data/tokens/token_store.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "trivet/config/digest.h"

namespace trivet::data {
namespace {

template <class T>
std::string digest_of(const std::vector<T>& values) {
  return digest({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

}  // namespace

MemoryTokens::MemoryTokens(std::int64_t vocabulary_size) {
  if (vocabulary_size > std::int64_t{1} << 16) ids_ = std::vector<std::int32_t>();
}

void MemoryTokens::add(std::span<const std::int32_t> ids, std::int64_t inputs, std::int64_t suffix,
                       std::vector<std::string> features, std::int32_t task) {
  if (task > 0 || !tasks_.empty()) {
    tasks_.resize(ends_.size());
    tasks_.push_back(task);
  }
  if (suffix > 0 || !suffixes_.empty()) {
    suffixes_.resize(ends_.size());
    suffixes_.push_back(suffix);
  }
  if (!features.empty()) features_.push_back(std::move(features));
  if (inputs > 0 || !inputs_.empty()) {
    inputs_.resize(ends_.size());
    inputs_.push_back(inputs);
  }
  std::visit(
      [&]<class T>(std::vector<T>& all) {
        std::ranges::transform(ids, std::back_inserter(all),
                               [](std::int32_t id) { return static_cast<T>(id); });
        ends_.push_back(static_cast<std::int64_t>(all.size()));
      },
      ids_);
}

std::int64_t MemoryTokens::start(std::int64_t document) const {
  return document == 0 ? 0 : ends_[static_cast<std::size_t>(document - 1)];
}

std::int64_t MemoryTokens::inputs(std::int64_t document) const {
  return inputs_.empty() ? 0 : inputs_[static_cast<std::size_t>(document)];
}

std::int64_t MemoryTokens::unweighted(std::int64_t document) const {
  if (suffixes_.empty()) return inputs(document);
  return length(document) - suffixes_[static_cast<std::size_t>(document)];
}

std::int32_t MemoryTokens::task(std::int64_t document) const {
  return tasks_.empty() ? 0 : tasks_[static_cast<std::size_t>(document)];
}

std::span<const std::string> MemoryTokens::features(std::int64_t document) const {
  if (features_.empty()) return {};
  return features_[static_cast<std::size_t>(document)];
}

std::int64_t MemoryTokens::length(std::int64_t document) const {
  return ends_[static_cast<std::size_t>(document)] - start(document);
}

void MemoryTokens::read(std::int64_t document, std::int64_t begin,
                        std::span<std::int32_t> out) const {
  std::visit(
      [&](const auto& all) {
        std::copy_n(all.begin() + start(document) + begin, out.size(), out.begin());
      },
      ids_);
}

std::string MemoryTokens::fingerprint() const {
  return digest(std::visit([](const auto& all) { return digest_of(all); }, ids_) +
                digest_of(ends_) + digest_of(inputs_) +
                (suffixes_.empty() ? "" : digest_of(suffixes_)) +
                (tasks_.empty() ? "" : " tasks " + digest_of(tasks_)));
}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
#include "data/sources/given_lines.h"

#include <utility>

#include "data/sources/json_line.h"

namespace trivet::data {

bool GivenLines::take(std::int64_t most) {
  texts_.clear();
  locations_.clear();
  std::string line;
  while (std::ssize(texts_) < most && (texts_.empty() || lines_.has_next_now())) {
    if (!lines_.next(line)) break;
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    texts_.push_back(std::exchange(line, {}));
    locations_.push_back(lines_.name() + ":" + std::to_string(lines_.line()));
  }
  return !texts_.empty();
}

std::uint64_t GivenLines::bytes() const {
  std::uint64_t bytes = 0;
  for (const std::string& text : texts_) bytes += text.size();
  return bytes;
}

void GivenLines::read(const Visit& visit) {
  JsonLine json;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    json.take(texts_[i], locations_[i]);
    visit(json.example());
  }
}

std::shared_ptr<DataSource> own_source(const ConfigOf<DataSource>& config,
                                       const InputContext& context) {
  return context.examples.empty() ? make(config) : nullptr;
}

std::string name_of(const DataSource* source) {
  return source != nullptr ? source->name() : "the examples";
}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
#include "host/note_schemas.h"

#include <algorithm>
#include <cstddef>

#include "trivet/error.h"

namespace trivet {
namespace {

constexpr int kItemLevel = 3;  // the note, its list of items, an item

class Splitter {
 public:
  Splitter(std::string_view text, int deepest) : text_(text), deepest_(deepest) {}

  SplitNote split() {
    while (at_ < text_.size()) step();
    keep_until(text_.size());
    return std::move(note_);
  }

 private:
  void step() {
    const char c = text_[at_++];
    if (c == '"') {
      key_ = skip_string();
    } else if (c == ':' && level_ == kItemLevel && key_ == "schema") {
      take_value();
    } else {
      count_level(c);
    }
  }

  void count_level(char c) {
    if (c == '{' || c == '[') {
      if (++level_ > deepest_) throw Error("the trivet note is nested too deeply");
    } else if (c == '}' || c == ']') {
      --level_;
    }
  }

  // From behind the opening quote; returns the content as written.
  std::string_view skip_string() {
    const std::size_t begin = at_;
    while ((at_ = text_.find_first_of("\"\\", at_)) != std::string_view::npos) {
      if (text_[at_] == '"') {
        const std::size_t end = at_++;
        return text_.substr(begin, end - begin);
      }
      at_ += 2;
    }
    at_ = text_.size();
    return {};
  }

  void take_value() {
    keep_until(at_);
    const auto ends = [this](char c) {
      return level_ == kItemLevel && (c == ',' || c == '}' || c == ']');
    };
    while (at_ < text_.size() && !ends(text_[at_])) {
      const char c = text_[at_++];
      if (c == '"') {
        skip_string();
      } else {
        count_level(c);
      }
    }
    at_ = std::min(at_, text_.size());
    if (at_ == kept_) return;  // no value: the rest stays what it is, not JSON
    note_.rest += std::to_string(note_.schemas.size());
    note_.schemas.push_back(text_.substr(kept_, at_ - kept_));
    kept_ = at_;
  }

  void keep_until(std::size_t end) {
    note_.rest += text_.substr(kept_, end - kept_);
    kept_ = end;
  }

  std::string_view text_;
  int deepest_;
  std::size_t at_ = 0, kept_ = 0;
  int level_ = 0;
  std::string_view key_;  // the last string
  SplitNote note_;
};

}  // namespace

SplitNote split_schemas(std::string_view text, int deepest) {
  return Splitter(text, deepest).split();
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// What of a source's examples is tokenized: texts with the names of features in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/data_source.h"

namespace trivet::data {

// "Translate {english} to " with the texts of an example instead of names. Braces of the text
// itself are doubled.
class TextTemplate {
 public:
  // Throws Error for braces that do not fit.
  explicit TextTemplate(std::string_view text);

  bool empty() const { return parts_.empty(); }
  // Throws InputError with location and nearest names when the example lacks a feature.
  std::string fill(const SourceExample& example) const;

 private:
  struct Part {
    bool is_name;
    std::string text;
  };
  std::vector<Part> parts_;
};

// Adds a problem for a text that is no template; `field` as in Diagnostics::add.
void check_template(Diagnostics& diagnostics, std::string_view field, const std::string& text);

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
// Templates for the texts of a source's examples, with the names of features in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/data_source.h"

namespace trivet::data {

// A template such as "Translate {english} to ", filled with an example's features. Double a literal
// brace.
class TextTemplate {
 public:
  // Throws Error for unbalanced braces.
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

// Adds a diagnostic for an invalid template; `field` as in Diagnostics::add.
void check_template(Diagnostics& diagnostics, std::string_view field, const std::string& text);

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
// Where documents of text come from.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace trivet::data {

// A finite number of texts in a fixed order. The constructor finds what can be found without
// reading everything (which files there are) and throws InputError; read() brings the texts.
class TextSource {
 public:
  virtual ~TextSource() = default;
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  // A text, valid during the call, and where it stands, for messages: "FILE" or "FILE:LINE".
  using Visit = std::function<void(std::string_view text, const std::string& place)>;

  virtual const std::string& name() const = 0;  // for messages
  // Calls `visit` with each text. Called once, from any thread. Throws InputError, also what
  // `visit` throws.
  virtual void read(const Visit& visit) = 0;

 protected:
  TextSource() = default;
};

}  // namespace trivet::data

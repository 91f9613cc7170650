// SPDX-License-Identifier: Apache-2.0
// DataSource: examples of named texts, from which inputs of text make batches: the lines of a file,
// pairs of a sentence and its translation.
//
// A source is finite and always gives the same examples in the same order; shuffling, hosts and
// epochs are matters of the input. The constructor finds what can be found without reading
// everything, such as which files there are, and throws InputError.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"

namespace trivet {

struct DataSourceConfig {};
TRIVET_CONFIG(DataSourceConfig, trivet::NoBase)

// Valid during the call that hands it out. Texts are bytes: they need not be UTF-8.
struct SourceExample {
  struct Feature {
    std::string_view name;
    std::string_view text;
  };
  std::vector<Feature> features;
  std::string location;  // for messages: "FILE" or "FILE:LINE"
};

class TRIVET_API DataSource : public Object {
 public:
  static constexpr std::string_view kKind = "data_source";
  using Config = DataSourceConfig;
  using Context = NoContext;

  ~DataSource() override;

  // For messages, such as "a.txt and 3 more". [any-thread]
  virtual const std::string& name() const = 0;
  // About how many bytes the examples have, as far as that is known without reading them.
  // [any-thread]
  virtual std::uint64_t bytes() const = 0;

  using Visit = std::function<void(const SourceExample& example)>;
  // Calls `visit` with each example, the same ones every time. Throws InputError with file and
  // record for what cannot be read, and whatever `visit` throws. [any-thread, one at a time]
  virtual void read(const Visit& visit) = 0;
};

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// An input that can read examples which a user gives it, in the form of its own data: what `trivet
// predict` needs. The input derives from ExampleLocations, too, and reads InputContext::examples,
// where it is set, instead of its data: once, in order, without padding, with at most batch_size
// rows in a batch. An example may have several rows, which follow each other. Labels may be
// missing, and then the batch has none. From a pipe, get_next gives what has come so far: it waits
// for the first example of a batch alone.
//
// Example (sdk/examples/snippets/input_extensions.cpp#example_locations):
//
//   const void* extension(std::string_view id) const noexcept override {
//     return id == kInputExamples ? static_cast<const ExampleLocations*>(this) : nullptr;
//   }
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trivet {

// Id for Input::extension; what it returns points to an ExampleLocations.
inline constexpr std::string_view kInputExamples = "trivet.input.examples/1";

class ExampleLocations {
 public:
  // Where the example of each row of the last batch came from: "people.csv:3", "cat.jpg".
  // [input-thread]
  virtual std::vector<std::string> locations() const = 0;

 protected:
  ~ExampleLocations() = default;
};

}  // namespace trivet

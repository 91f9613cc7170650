// SPDX-License-Identifier: Apache-2.0
// What the headers of extensions of inputs show: examples that a user gives.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/extensions/example_locations.h>
#include <trivet/extensions/passthrough.h>
#include <trivet/input.h>
#include <trivet/os/line_stream.h>

#include "fixtures.h"

namespace input_extensions_example {

using namespace trivet;

namespace {

// The length of each line.
class Lengths final : public Input, public ExampleLocations {
 public:
  explicit Lengths(const InputContext& context) : lines_(context.examples) {}

  // [example_locations]
  const void* extension(std::string_view id) const noexcept override {
    return id == kInputExamples ? static_cast<const ExampleLocations*>(this) : nullptr;
  }
  // [/example_locations]

  std::vector<std::string> locations() const override {
    return {lines_.name() + ":" + std::to_string(lines_.line())};
  }

  std::optional<Batch> get_next() override {
    std::string line;
    if (!lines_.next(line)) return std::nullopt;
    Tensor length = Tensor::host({1});
    length.mutable_span<float>()[0] = static_cast<float>(line.size());
    return Batch{{"length", length}};
  }
  void reset() override {}
  Value save_state() const override { return {}; }
  void restore_state(const Value&) override {}

 private:
  LineStream lines_;
};

}  // namespace

TEST_CASE("example: texts pass through a batch") {
  const std::vector<std::string> ids = {"a-1", ""};
  Batch batch;
  // [passthrough]
  batch.set(std::string(kPassthrough) + "/id", passthrough_texts(ids));  // one text a row
  // [/passthrough]
  CHECK(*passthrough_of(batch, 0).find("id") == "a-1");
  CHECK(*passthrough_of(batch, 1).find("id") == "");
  CHECK(passthrough_of({}, 0).is_null());
}

TEST_CASE("example: an input reads examples that it is given") {
  const snippets::Folder folder;
  const std::string file = folder.write("lines.txt", "one\nthree\n");
  Lengths input({.name = "task.eval_input", .examples = file});
  const auto* given = static_cast<const ExampleLocations*>(input.extension(kInputExamples));
  REQUIRE(given != nullptr);
  REQUIRE(input.get_next());
  const auto second = input.get_next();
  REQUIRE(second);
  CHECK(second->at("length").span<float>()[0] == 5);
  CHECK(given->locations() == std::vector<std::string>{file + ":2"});
  CHECK_FALSE(input.get_next());
}

}  // namespace input_extensions_example

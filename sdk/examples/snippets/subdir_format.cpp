// SPDX-License-Identifier: Apache-2.0
// What trivet/launch/subdir_format.h shows: a placeholder of one's own in names of directories.
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/error.h>
#include <trivet/launch/subdir_format.h>

namespace subdir_format_example {

using trivet::Value;
using trivet::launch::DirProperties;

namespace {

// [class]
class DatedDirs : public trivet::launch::SubdirFormat {
 public:
  using SubdirFormat::SubdirFormat;
  std::vector<std::string> own_placeholders() const override { return {"date"}; }
  Value own_placeholder(std::string_view, const DirProperties&) const override {
    return "2026-11-21";
  }
};
// [/class]

}  // namespace

TEST_CASE("example: a class adds a placeholder to names of directories") {
  DirProperties properties;
  properties.xid = 7;
  CHECK(DatedDirs().expand("{xid}-{date}", properties) == "7-2026-11-21");
  CHECK_THROWS_WITH(DatedDirs().expand("{day}", properties), Catch::Contains("date"));
}

}  // namespace subdir_format_example

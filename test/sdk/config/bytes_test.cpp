// SPDX-License-Identifier: Apache-2.0
// Fields that take an amount of memory or data.
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "trivet/config.h"

using namespace trivet;
using Catch::Contains;

namespace {

struct RoomConfig {
  Bytes limit = std::int64_t{4} << 30;
  Bytes none;
};
TRIVET_CONFIG(RoomConfig, NoBase, (limit, "Most bytes.", at_least(1)), (none, "Nothing."))

RoomConfig read_limit(Value limit) {
  return decode<RoomConfig>(Value::table({{"limit", std::move(limit)}}));
}

}  // namespace

TEST_CASE("amounts of memory have decimal and binary units") {
  CHECK(parse_bytes("4096") == Bytes(4096));
  CHECK(parse_bytes("16GiB") == Bytes(std::int64_t{16} << 30));
  CHECK(parse_bytes("1.5 GiB") == Bytes(std::int64_t{3} << 29));
  CHECK(parse_bytes("500MB") == Bytes(500'000'000));
  CHECK(parse_bytes("2G") == Bytes(std::int64_t{2} << 30));  // as Slurm has it
  CHECK(parse_bytes("1.15kB") == Bytes(1150));               // rounded: in binary it is 1149.99...
  struct Amount {
    const char* text;
    std::int64_t bytes;
  };
  constexpr std::int64_t kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;
  for (const Amount& amount : std::initializer_list<Amount>{{"3", 3},
                                                            {"3B", 3},
                                                            {"3kB", 3000},
                                                            {"3KB", 3000},
                                                            {"3MB", 3'000'000},
                                                            {"3GB", 3'000'000'000},
                                                            {"3TB", 3'000'000'000'000},
                                                            {"3K", 3 * kKi},
                                                            {"3M", 3 * kMi},
                                                            {"3G", 3 * kGi},
                                                            {"3T", 3 * kTi},
                                                            {"3KiB", 3 * kKi},
                                                            {"3MiB", 3 * kMi},
                                                            {"3GiB", 3 * kGi},
                                                            {"3TiB", 3 * kTi}}) {
    INFO(amount.text);
    CHECK(parse_bytes(amount.text) == Bytes(amount.bytes));
  }
  for (const char* text : {"", "GiB", "-1GB", "1 parsec", "1GiB2", "1e3", "9223372036854775808",
                           "99999999TiB", "nan", "0x10"}) {
    INFO(text);
    CHECK_FALSE(parse_bytes(text).has_value());
  }
}

TEST_CASE("bytes are a whole number or a text with a unit") {
  CHECK(read_limit(1000).limit == Bytes(1000));
  CHECK(read_limit("1000").limit == Bytes(1000));
  CHECK(read_limit("2MiB").limit == Bytes(std::int64_t{2} << 20));
  CHECK(decode<RoomConfig>(Value::table()).limit == Bytes(std::int64_t{4} << 30));
}

TEST_CASE("an invalid amount of bytes is refused with the field") {
  const auto refused = [](Value value) {
    try {
      read_limit(std::move(value));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(refused("lots"), Contains("limit: expected a number of bytes, or a text such as"));
  CHECK_THAT(refused("-1GB"), Contains("limit: expected a number of bytes"));
  CHECK_THAT(refused(1.5), Contains("limit: expected a number of bytes"));
  CHECK_THAT(refused(true), Contains("limit: expected a number of bytes"));
  CHECK_THAT(refused(0), Contains("must be >= 1"));
  CHECK_THAT(refused("0B"), Contains("must be >= 1"));
}

TEST_CASE("bytes are written in the largest unit that keeps them") {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t count :
       {std::int64_t{1}, std::int64_t{999}, std::int64_t{1000}, std::int64_t{1024},
        std::int64_t{1'000'001}, std::int64_t{500'000'000}, std::int64_t{16} << 30,
        std::int64_t{3} << 40, (std::int64_t{1} << 53) + 1, kLargest}) {
    RoomConfig config;
    config.limit = count;
    const Value written = encode(config);
    INFO(to_toml(written));
    CHECK(decode<RoomConfig>(written).limit == Bytes(count));
  }
  CHECK(to_string(Bytes(std::int64_t{16} << 30)) == "16GiB");
  CHECK(to_string(Bytes(500'000'000)) == "500MB");
  CHECK(to_string(Bytes(1'000'001)) == "1000001");
  CHECK(to_string(Bytes(0)) == "0");
  CHECK(*encode(RoomConfig()).find("limit") == Value("4GiB"));
  CHECK(*encode(RoomConfig()).find("none") == Value(0));
}

TEST_CASE("the schema of bytes has its default as files write it") {
  const Field* limit = schema_of<RoomConfig>().find("limit");
  REQUIRE(limit != nullptr);
  CHECK(limit->type.quantity == "bytes");
  CHECK(to_string(limit->type) == "bytes");
  CHECK(limit->default_value == Value("4GiB"));
}

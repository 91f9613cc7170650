// SPDX-License-Identifier: Apache-2.0
#include "support/random_value.h"

#include <bit>
#include <cmath>
#include <limits>

namespace trivet::test {

std::string RandomValues::text() {
  static const char* const kPieces[] = {"a",
                                        "Z",
                                        "9",
                                        "_",
                                        "-",
                                        ".",
                                        " ",
                                        "\"",
                                        "'",
                                        "\\",
                                        "\n",
                                        "\t",
                                        "\r",
                                        "\x01",
                                        "#",
                                        "=",
                                        "[",
                                        "]",
                                        "{",
                                        "\x7f",
                                        "\"\"\"",
                                        "'''",
                                        "\xC3\xA9",
                                        "/",
                                        "\xE2\x82\xAC",
                                        "\xF0\x9F\x98\x80",
                                        "${a.b}"};
  std::string text;
  for (std::uint64_t i = below(7); i > 0; --i) text += kPieces[below(std::size(kPieces))];
  return text;
}

double RandomValues::number() {
  static const double kSpecial[] = {0.0,
                                    -0.0,
                                    0.1,
                                    1.0,
                                    1e300,
                                    -1e-300,
                                    5e-324,
                                    1e20,
                                    std::numeric_limits<double>::max(),
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::quiet_NaN()};
  if (below(2) == 0) return kSpecial[below(std::size(kSpecial))];
  const double any = std::bit_cast<double>(bits_());
  return std::isnan(any) ? 0.5 : any;
}

Value RandomValues::value(int depth) {
  switch (below(depth > 0 ? 6 : 4)) {
    case 0:
      return below(2) == 0;
    case 1:
      return below(4) == 0 ? std::numeric_limits<std::int64_t>::min()
                           : static_cast<std::int64_t>(bits_());
    case 2:
      return number();
    case 3:
      return text();
    case 4: {
      Value array = Value::array();
      const bool tables = below(2) == 0;
      for (std::uint64_t i = below(4); i > 0; --i) {
        array.push_back(tables ? table(depth - 1) : value(depth - 1));
      }
      return array;
    }
    default:
      return table(depth - 1);
  }
}

Value RandomValues::table(int depth) {
  Value table = Value::table();
  for (std::uint64_t i = below(6); i > 0; --i) table.set(text(), value(depth));
  return table;
}

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
#include "trivet/search/metric_pattern.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace trivet::search {

std::optional<MetricPattern> parse_metric_pattern(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  const auto aggregate = enum_from_name<Aggregate>(text.substr(0, open));
  const std::string_view pattern = text.substr(open + 1, text.size() - open - 2);
  if (!aggregate || pattern.find('*') == std::string_view::npos) return std::nullopt;
  return MetricPattern{*aggregate, std::string(pattern)};
}

bool fits_pattern(std::string_view name, std::string_view pattern) {
  // The last star in the pattern, and the end in the name of the text that it takes.
  std::size_t star = std::string_view::npos, taken = 0, at = 0, next = 0;
  while (at < name.size()) {
    if (next < pattern.size() && pattern[next] == '*') {
      star = next++;
      taken = at;
    } else if (next < pattern.size() && pattern[next] == name[at]) {
      ++next;
      ++at;
    } else if (star != std::string_view::npos && name[taken] != '/') {
      next = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', next) == std::string_view::npos;
}

double aggregate_of(Aggregate aggregate, std::span<const double> numbers) {
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  if (!std::ranges::all_of(numbers, [](double one) { return std::isfinite(one); })) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  switch (aggregate) {
    case Aggregate::max:
      return std::ranges::max(numbers);
    case Aggregate::min:
      return std::ranges::min(numbers);
    case Aggregate::mean:
      return sum / static_cast<double>(numbers.size());
    case Aggregate::sum:
      break;
  }
  return sum;
}

}  // namespace trivet::search

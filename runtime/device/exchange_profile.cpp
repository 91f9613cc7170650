// SPDX-License-Identifier: Apache-2.0
#include "device/exchange_profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "trivet/config/enums.h"
#include "trivet/error.h"

namespace trivet {

namespace {

using Sequence = ExchangeProfile::Sequence;
constexpr const char* kHint = "remove the file, and the run measures its first steps";

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool are_alike(const MeasuredStep& a, const MeasuredStep& b) {
  return std::ranges::equal(a.exchanges, b.exchanges,
                            [](const UnitExchange& one, const UnitExchange& other) {
                              return one.kind == other.kind && one.bytes == other.bytes;
                            });
}

using Steps = std::vector<const MeasuredStep*>;

// Of a step, from one exchange to the next.
double computed_before(const MeasuredStep& step, std::size_t i) {
  return step.exchanges[i].begin - (i == 0 ? step.begin : step.exchanges[i - 1].end);
}

double rest_of(const MeasuredStep& step) {
  return step.end - (step.exchanges.empty() ? step.begin : step.exchanges.back().end);
}

template <class Of>
double median_of(const Steps& steps, const Of& of) {
  std::vector<double> values;
  for (const MeasuredStep* step : steps) values.push_back(std::max(0.0, of(*step)));
  return median(std::move(values));
}

// Processes that compute longer than others let these wait at the next exchange: the slowest counts
// between exchanges. Each has its steps, as many as the others.
Sequence sequence_of(std::vector<std::int64_t> ranks, const std::vector<Steps>& all) {
  Sequence sequence{.processes = std::move(ranks)};
  const std::vector<UnitExchange>& exchanges = all.front().front()->exchanges;
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    ExchangeProfile::Exchange one{.kind = exchanges[i].kind,
                                  .bytes = exchanges[i].bytes,
                                  .is_beside = exchanges[i].is_beside};
    const auto took = [i](const MeasuredStep& step) {
      return step.exchanges[i].end - step.exchanges[i].begin;
    };
    for (const Steps& steps : all) {
      one.compute_seconds = std::max(
          one.compute_seconds,
          median_of(steps, [i](const MeasuredStep& step) { return computed_before(step, i); }));
      one.waited_seconds += median_of(steps, took) / static_cast<double>(all.size());
    }
    std::vector<double> shortest;
    for (std::size_t step = 0; step < all.front().size(); ++step) {
      double least = took(*all.front()[step]);
      for (const Steps& steps : all) least = std::min(least, took(*steps[step]));
      shortest.push_back(std::max(0.0, least));
    }
    one.seconds = median(std::move(shortest));
    sequence.exchanges.push_back(one);
  }
  for (const Steps& steps : all) {
    sequence.rest_seconds = std::max(sequence.rest_seconds, median_of(steps, rest_of));
  }
  return sequence;
}

const Value& part(const Value& value, std::string_view key, const std::string& source) {
  return value.at(key, source, kHint);
}

double seconds_in(const Value& value, std::string_view key, const std::string& source) {
  const double seconds = part(value, key, source).as_float();
  if (seconds >= 0 && std::isfinite(seconds)) return seconds;
  throw RunError(source + ": '" + std::string(key) + "' is no time", {.hint = kHint});
}

template <class Read>
auto read_list(const Value& value, std::string_view key, const std::string& source,
               const Read& read) {
  std::vector<decltype(read(value))> all;
  for (const Value& item : part(value, key, source).items()) all.push_back(read(item));
  return all;
}

UnitExchange::Kind kind_in(const Value& value, const std::string& source) {
  const std::string& name = part(value, "kind", source).as_string();
  const auto kind = enum_from_name<UnitExchange::Kind>(name);
  if (!kind) throw RunError(source + ": no exchange is a '" + name + "'", {.hint = kHint});
  return *kind;
}

std::uint64_t bytes_in(const Value& value, const std::string& source) {
  const std::int64_t bytes = part(value, "bytes", source).as_integer();
  if (bytes < 0) throw RunError(source + ": 'bytes' is negative", {.hint = kHint});
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

bool ExchangeProfile::is_empty() const {
  return std::ranges::all_of(sequences,
                             [](const Sequence& sequence) { return sequence.exchanges.empty(); });
}

ExchangeProfile exchange_profile(const std::vector<std::vector<MeasuredStep>>& by_process) {
  ExchangeProfile profile;
  std::vector<bool> is_done(by_process.size());
  for (std::size_t first = 0; first < by_process.size(); ++first) {
    if (is_done[first] || by_process[first].empty()) continue;
    const MeasuredStep& last = by_process[first].back();
    // Of the processes with this sequence those steps in which all of them have it.
    std::vector<std::int64_t> ranks;
    for (std::size_t rank = first; rank < by_process.size(); ++rank) {
      if (is_done[rank] || by_process[rank].size() != by_process[first].size() ||
          !are_alike(by_process[rank].back(), last)) {
        continue;
      }
      is_done[rank] = true;
      ranks.push_back(static_cast<std::int64_t>(rank));
    }
    std::vector<Steps> all(ranks.size());
    for (std::size_t step = 0; step < by_process[first].size(); ++step) {
      const auto step_of = [&](std::int64_t rank) -> const MeasuredStep& {
        return by_process[static_cast<std::size_t>(rank)][step];
      };
      if (!std::ranges::all_of(ranks,
                               [&](std::int64_t rank) { return are_alike(step_of(rank), last); })) {
        continue;
      }
      for (std::size_t i = 0; i < ranks.size(); ++i) all[i].push_back(&step_of(ranks[i]));
    }
    profile.steps = std::max<std::int64_t>(profile.steps, std::ssize(all.front()));
    profile.sequences.push_back(sequence_of(std::move(ranks), all));
  }
  return profile;
}

Value to_value(const std::vector<MeasuredStep>& steps) {
  Value all = Value::array();
  for (const MeasuredStep& step : steps) {
    Value exchanges = Value::array();
    for (const UnitExchange& one : step.exchanges) {
      exchanges.push_back(Value::table({{"kind", enum_name(one.kind)},
                                        {"bytes", one.bytes},
                                        {"beside", one.is_beside},
                                        {"begin", one.begin},
                                        {"wait", one.wait},
                                        {"end", one.end}}));
    }
    all.push_back(Value::table(
        {{"begin", step.begin}, {"end", step.end}, {"exchanges", std::move(exchanges)}}));
  }
  return all;
}

std::vector<MeasuredStep> measured_steps(const Value& value, const std::string& source) {
  std::vector<MeasuredStep> steps;
  for (const Value& step : value.items()) {
    steps.push_back({.begin = seconds_in(step, "begin", source),
                     .end = seconds_in(step, "end", source),
                     .exchanges = read_list(step, "exchanges", source, [&](const Value& one) {
                       return UnitExchange{.kind = kind_in(one, source),
                                           .bytes = bytes_in(one, source),
                                           .is_beside = part(one, "beside", source).as_boolean(),
                                           .begin = seconds_in(one, "begin", source),
                                           .wait = seconds_in(one, "wait", source),
                                           .end = seconds_in(one, "end", source)};
                     })});
  }
  return steps;
}

Value to_value(const ExchangeProfile& profile) {
  Value sequences = Value::array();
  for (const Sequence& sequence : profile.sequences) {
    Value exchanges = Value::array();
    for (const ExchangeProfile::Exchange& one : sequence.exchanges) {
      exchanges.push_back(Value::table({{"kind", enum_name(one.kind)},
                                        {"bytes", one.bytes},
                                        {"beside", one.is_beside},
                                        {"compute_seconds", one.compute_seconds},
                                        {"seconds", one.seconds},
                                        {"waited_seconds", one.waited_seconds}}));
    }
    sequences.push_back(Value::table({{"processes", Value::array_of(sequence.processes)},
                                      {"exchanges", std::move(exchanges)},
                                      {"rest_seconds", sequence.rest_seconds}}));
  }
  return Value::table({{"steps", profile.steps}, {"sequences", std::move(sequences)}});
}

ExchangeProfile exchange_profile(const Value& value, const std::string& source) {
  ExchangeProfile profile;
  profile.steps = part(value, "steps", source).as_integer();
  profile.sequences = read_list(value, "sequences", source, [&](const Value& sequence) {
    return Sequence{
        .processes = read_list(sequence, "processes", source,
                               [](const Value& rank) { return rank.as_integer(); }),
        .exchanges = read_list(sequence, "exchanges", source,
                               [&](const Value& one) {
                                 return ExchangeProfile::Exchange{
                                     .kind = kind_in(one, source),
                                     .bytes = bytes_in(one, source),
                                     .is_beside = part(one, "beside", source).as_boolean(),
                                     .compute_seconds = seconds_in(one, "compute_seconds", source),
                                     .seconds = seconds_in(one, "seconds", source),
                                     .waited_seconds = seconds_in(one, "waited_seconds", source)};
                               }),
        .rest_seconds = seconds_in(sequence, "rest_seconds", source)};
  });
  if (profile.is_empty()) throw RunError(source + ": has no exchange", {.hint = kHint});
  return profile;
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "rundir/metrics_record.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "trivet/config/enums.h"

namespace trivet {
namespace {

using OrderedJson = nlohmann::ordered_json;

void read_logs(const OrderedJson& record, const char* part, Logs& logs) {
  const auto found = record.find(part);
  if (found == record.end() || !found->is_object()) return;
  for (const auto& [name, value] : found->items()) {
    if (value.is_number()) logs.set(name, value.get<double>());
    if (value.is_null()) logs.set(name, std::numeric_limits<double>::quiet_NaN());
  }
}

// The numbers of a line without `values`: {"step": 50, "loss": 0.3}.
void read_flat_values(const OrderedJson& record, Logs& values) {
  for (const auto& [name, value] : record.items()) {
    if (name != "step" && name != "time" && value.is_number()) {
      values.set(name, value.get<double>());
    }
  }
}

}  // namespace

std::optional<AnyRecord> parse_any_record(std::string_view line) {
  const OrderedJson json = OrderedJson::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  AnyRecord any;
  const auto step = json.find("step");
  if (step == json.end() || !step->is_number_unsigned()) return any;
  if (!std::in_range<std::int64_t>(step->get<std::uint64_t>())) return any;
  any.step = step->get<std::int64_t>();
  const auto kind = json.find("kind");
  if (kind != json.end() && !kind->is_string()) return any;
  const std::string named =
      kind == json.end() ? std::string(enum_name(RecordKind::eval)) : kind->get<std::string>();
  for (const RecordKind known : {RecordKind::train, RecordKind::eval}) {
    if (named != enum_name(known)) continue;
    MetricsRecord& record = any.known.emplace();
    record.kind = known;
    record.step = *any.step;
    if (!json.contains("values")) read_flat_values(json, record.values);
    read_logs(json, "values", record.values);
    read_logs(json, "rates", record.rates);
  }
  // A line without a kind and numbers is not a record.
  if (kind == json.end() && any.known->values.begin() == any.known->values.end()) any.known.reset();
  return any;
}

std::optional<MetricsRecord> parse_record(std::string_view line) {
  std::optional<AnyRecord> any = parse_any_record(line);
  return any ? std::move(any->known) : std::nullopt;
}

Value json_number(double number) {
  return std::isfinite(number) ? Value(number) : Value();
}

Value json_numbers(const Logs& numbers) {
  Value table = Value::table();
  for (const auto& [name, number] : numbers) table.set(name, json_number(number));
  return table;
}

}  // namespace trivet

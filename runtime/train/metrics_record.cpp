// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_record.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace trivet {
namespace {

using Json = nlohmann::ordered_json;

void read_logs(const Json& record, const char* part, Logs& logs) {
  const auto found = record.find(part);
  if (found == record.end() || !found->is_object()) return;
  for (const auto& [name, value] : found->items()) {
    if (value.is_number()) logs.set(name, value.get<double>());
    if (value.is_null()) logs.set(name, std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace

std::string_view name_of(RecordKind kind) {
  return kind == RecordKind::train ? "train" : "eval";
}

std::optional<MetricsRecord> parse_record(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto step = json.find("step");
  const auto kind = json.find("kind");
  if (step == json.end() || !step->is_number_unsigned()) return std::nullopt;
  if (!std::in_range<std::int64_t>(step->get<std::uint64_t>())) return std::nullopt;
  if (kind == json.end() || !kind->is_string()) return std::nullopt;
  MetricsRecord record;
  record.step = step->get<std::int64_t>();
  const auto& name = kind->get_ref<const std::string&>();
  if (name != name_of(RecordKind::train) && name != name_of(RecordKind::eval)) return std::nullopt;
  record.kind = name == name_of(RecordKind::eval) ? RecordKind::eval : RecordKind::train;
  read_logs(json, "values", record.values);
  read_logs(json, "rates", record.rates);
  return record;
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

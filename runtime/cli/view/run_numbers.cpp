// SPDX-License-Identifier: Apache-2.0
#include "cli/view/run_numbers.h"

#include "trivet/config/enums.h"

namespace trivet {

NumberName parse_number_name(std::string_view text) {
  for (const RecordKind kind : {RecordKind::train, RecordKind::eval}) {
    const std::string prefix = std::string(enum_name(kind)) + "/";
    if (text.starts_with(prefix)) return {kind, std::string(text.substr(prefix.size()))};
  }
  return {std::nullopt, std::string(text)};
}

const double* find_number(const LastRecords& records, std::string_view name) {
  const NumberName wanted = parse_number_name(name);
  for (const auto* record : {&records.eval, &records.train}) {
    if (!*record || !wanted.fits((*record)->kind, wanted.name)) continue;
    for (const Logs* logs : {&(*record)->values, &(*record)->rates}) {
      if (const double* number = logs->find(wanted.name)) return number;
    }
  }
  return nullptr;
}

}  // namespace trivet

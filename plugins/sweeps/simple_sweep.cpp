// SPDX-License-Identifier: Apache-2.0
#include "simple_sweep.h"

#include "trivet/error.h"

namespace trivet::sweeps {

SimpleSweep::SimpleSweep(const Config& config, const launch::SweepContext&) {
  for (const Value& table : config.items) {
    if (!table.is_table()) {
      throw ConfigError(Diagnostic{table.origin(), "xp.sweep_info.items",
                                   "expected a table, found " + to_toml(table),
                                   "write items = [{ batch_size = 32 }, { batch_size = 64 }]"});
    }
    launch::SweepItem& item = items_.emplace_back();
    for (const Value::Member& member : table.members()) {
      item.args.emplace_back(member.key, member.value);
    }
  }
}

}  // namespace trivet::sweeps

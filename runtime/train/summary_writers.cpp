// SPDX-License-Identifier: Apache-2.0
#include "train/summary_writers.h"

#include <utility>

#include "trivet/plugin/registry.h"

namespace trivet {

void SummaryWriters::open(const std::vector<ConfigOf<SummaryWriter>>& configs,
                          const std::filesystem::path& directory) {
  for (const ConfigOf<SummaryWriter>& config : configs) {
    SummaryWriterContext context{.directory = directory};
    writers_.push_back({config, make(config, context)});
  }
}

void SummaryWriters::for_each(const std::function<void(SummaryWriter&)>& call) {
  for (const Entry& entry : writers_) {
    const RegistryItem& item = registry().get(SummaryWriter::kKind, entry.config.key());
    Registry::guard(item, entry.config.origin(), entry.config.path(), [&] { call(*entry.writer); });
  }
}

void SummaryWriters::begin(std::int64_t step) {
  for_each([&](SummaryWriter& writer) { writer.begin(step); });
}

void SummaryWriters::scalars(std::string_view group, std::int64_t step, const Logs& logs) {
  for_each([&](SummaryWriter& writer) { writer.scalars(group, step, logs); });
}

void SummaryWriters::summaries(std::string_view group, std::int64_t step,
                               const Summaries& summaries) {
  if (summaries.entries().empty()) return;
  for_each([&](SummaryWriter& writer) { writer.summaries(group, step, summaries); });
}

void SummaryWriters::flush() {
  for_each([](SummaryWriter& writer) { writer.flush(); });
}

}  // namespace trivet

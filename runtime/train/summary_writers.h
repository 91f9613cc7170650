// SPDX-License-Identifier: Apache-2.0
// The summary writers of a run (trainer.summary_writers): each gets all summaries. Exceptions of a
// writer are reported with its plugin and its location in the config.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "trivet/config/config_of.h"
#include "trivet/summary_writer.h"

namespace trivet {

// [run-thread]
class SummaryWriters {
 public:
  // Builds the writers for the run in `directory`. Throws the exceptions of their constructors.
  void open(const std::vector<ConfigOf<SummaryWriter>>& configs,
            const std::filesystem::path& directory);

  bool empty() const { return writers_.empty(); }
  void begin(std::int64_t step);
  void scalars(std::string_view group, std::int64_t step, const Logs& logs);
  void summaries(std::string_view group, std::int64_t step, const Summaries& summaries);
  void flush();

 private:
  struct Entry {
    ConfigOf<SummaryWriter> config;
    std::unique_ptr<SummaryWriter> writer;
  };
  void for_each(const std::function<void(SummaryWriter&)>& call);

  std::vector<Entry> writers_;
};

}  // namespace trivet

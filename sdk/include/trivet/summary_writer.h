// SPDX-License-Identifier: Apache-2.0
// SummaryWriter: where the numbers of a run go beside metrics.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "trivet/config.h"
#include "trivet/export.h"
#include "trivet/logs.h"
#include "trivet/registry.h"

namespace trivet {

struct SummaryWriterConfig {};
TRIVET_CONFIG(SummaryWriterConfig, trivet::NoBase)

struct SummaryWriterContext {
  std::filesystem::path directory;  // of the run
};

class TRIVET_API SummaryWriter {
 public:
  static constexpr std::string_view kKind = "summary_writer";
  using Config = SummaryWriterConfig;
  using Context = SummaryWriterContext;

  virtual ~SummaryWriter();
  // `group` is "train" or "eval". [run thread]
  virtual void scalars(std::string_view group, std::int64_t step, const Logs& logs) = 0;
  virtual void flush() = 0;
};

}  // namespace trivet

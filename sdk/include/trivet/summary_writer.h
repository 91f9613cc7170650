// SPDX-License-Identifier: Apache-2.0
// SummaryWriter: where the numbers of a run go beside metrics.jsonl, and what layers want seen at
// all. Listed in trainer.summary_writers.
//
// Calls come in the order of the run, steps ascending from one begin() to the next. An exception
// ends the run: records that are lost unnoticed are worth less than none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/layer/summaries.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/logs.h"

namespace trivet {

struct SummaryWriterConfig {};
TRIVET_CONFIG(SummaryWriterConfig, trivet::NoBase)

struct SummaryWriterContext {
  std::filesystem::path directory;  // of the run
};

class TRIVET_API SummaryWriter : public Object {
 public:
  static constexpr std::string_view kKind = "summary_writer";
  using Config = SummaryWriterConfig;
  using Context = SummaryWriterContext;

  ~SummaryWriter() override;

  // The run continues after `step`, 0 for a new one: what was written of later steps, by this
  // process or another, no longer counts. Called first, and again whenever a run goes back to a
  // checkpoint. Default: nothing. [run-thread]
  virtual void begin(std::int64_t step);

  // `group` is "train" or "eval". The numbers are those of a record in metrics.jsonl, the rates
  // included. [run-thread]
  virtual void scalars(std::string_view group, std::int64_t step, const Logs& logs) = 0;
  // Entries of kinds that a writer cannot show are left out. Default: all of them. [run-thread]
  virtual void summaries(std::string_view group, std::int64_t step, const Summaries& summaries);

  // Writes what was given to the disk: before every checkpoint and at the end of the run.
  // [run-thread]
  virtual void flush() = 0;
};

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// Events: a summary writer for TensorBoard: `tensorboard --logdir runs` shows training and
// evaluation of every run as two curves in one plot.
//
//   RUN/events/train/events.out.tfevents.1763690431.HOST.PID
//   RUN/events/eval/...
//
// A process writes its own files and creates them at the first event. Their numbers increase
// independently of the clock, since readers read files in this order. When a run continues from a
// checkpoint or rolls back to one, later steps are cut from the files, so that every step occurs
// once. The next file marks the cut, for readers that have read the old files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "record_file.h"
#include "trivet/summary_writer.h"
#include "trivet/train/run_log.h"

namespace trivet::tensorboard {

struct EventsConfig : SummaryWriterConfig {};
TRIVET_CONFIG(EventsConfig, SummaryWriterConfig)

class Events final : public SummaryWriter, private RunRecords {
 public:
  using Config = EventsConfig;
  Events(const Config& config, SummaryWriterContext& context);

  void begin(std::int64_t step) override;
  void scalars(std::string_view group, std::int64_t step, const Logs& logs) override;
  void summaries(std::string_view group, std::int64_t step, const Summaries& summaries) override;
  void flush() override;

 private:
  void cut_after(const RunPosition& last) override;
  void sync() override { flush(); }
  RecordFile& file_of(std::string_view group);
  void append_start(RecordFile& file) const;

  std::filesystem::path directory_;
  std::optional<std::int64_t> begin_;
  std::map<std::string, RecordFile, std::less<>> files_;  // by group
};

}  // namespace trivet::tensorboard

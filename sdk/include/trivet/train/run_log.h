// SPDX-License-Identifier: Apache-2.0
// What tasks, actions and summary writers record by step beside metrics.jsonl.
//
// A run that was killed, or that goes back because of a bad step, does steps again. The host then
// tells all records by one call where the run continues, and each drops what it has of later steps,
// also lines of an earlier process. So every step is once in the records.
// A RunLog does this by itself.
//
// Example (sdk/examples/snippets/files.cpp#log):
//
//   RunLog samples(context.logging_dir, "samples.jsonl", RunLog::Of::evaluation);
//   samples.append(global_step, Value::table({{"text", text}}));
//
// Records must exist, as objects, when the run continues: make them in the constructor of the task,
// the action or the writer, not at the first use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trivet/base/export.h"
#include "trivet/config/value.h"

namespace trivet {

// Where a run continues.
struct RunPosition {
  std::int64_t step = -1;  // the last one whose records count; -1 for a run that starts
  bool evaluated = false;  // those of the evaluation of this very step count, too
};

// Records of a run, known to the host from their constructor to their destructor.
class TRIVET_API RunRecords {
 public:
  RunRecords(const RunRecords&) = delete;
  RunRecords& operator=(const RunRecords&) = delete;

  // Drops what does not count any more, and a record that a kill has cut short. An exception ends
  // the run before it has changed anything else. [run-thread]
  virtual void cut_after(const RunPosition& last) = 0;
  // Writes what was recorded to the disk: before every checkpoint, and before an evaluation is
  // recorded. [run-thread]
  virtual void sync() = 0;

 protected:
  // `directory` is the run's, or one below it.
  explicit RunRecords(const std::filesystem::path& directory);
  ~RunRecords();

 private:
  friend class RunRecordsOf;
  std::filesystem::path directory_;
};

// For the host: calls cut_after or sync of all records of the run in `directory`.
TRIVET_API void cut_run_records(const std::filesystem::path& directory, const RunPosition& last);
TRIVET_API void sync_run_records(const std::filesystem::path& directory);

// A file with a JSON object a line, each with its "step".
class TRIVET_API RunLog final : public RunRecords {
 public:
  enum class Of {
    training,    // a line belongs to the step after which it was written
    evaluation,  // or to an evaluation, which a kill may interrupt and the run then does again
  };
  // The file is made by the first line.
  RunLog(const std::filesystem::path& directory, const std::string& name, Of of);

  // {"step": step, ...fields}, whole or not at all. Throws RunError with the system's reason.
  void append(std::int64_t step, const Value& fields);

  void cut_after(const RunPosition& last) override;
  void sync() override;

 private:
  bool counts(const std::string& line, const RunPosition& last) const;

  std::filesystem::path path_;
  Of of_;
  bool opened_ = false;  // an unfinished line is gone
  bool dirty_ = false;
};

}  // namespace trivet

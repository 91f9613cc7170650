// SPDX-License-Identifier: Apache-2.0
// ExampleOutputs: the files of what a program gave for each example, one an evaluation:
// outputs_step_500.jsonl, a JSON object a line, with the number of the example in the data set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trivet/config/value.h"
#include "trivet/os/file.h"
#include "trivet/train/run_log.h"

namespace trivet {

class ExampleOutputs final : public RunRecords {
 public:
  // `directory` is made with the first file.
  explicit ExampleOutputs(std::filesystem::path directory);
  ~ExampleOutputs();

  // A new file for this step, which replaces an earlier one in commit(). A file that was begun and
  // not committed is dropped. Throws FileError.
  void begin(std::int64_t step);
  void add(std::int64_t example, const Value& columns);
  void commit();

  // Removes the files of later evaluations, and unfinished ones.
  void cut_after(const RunPosition& last) override;
  void sync() override {}  // commit() does

 private:
  std::filesystem::path path_of(std::int64_t step) const;
  void flush();
  void drop() noexcept;

  std::filesystem::path directory_, target_, unfinished_;
  UniqueFd file_;
  std::string buffer_;
};

}  // namespace trivet

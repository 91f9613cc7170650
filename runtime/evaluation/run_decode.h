// SPDX-License-Identifier: Apache-2.0
// RunDecode: the program "decode": the model writes texts for each example, and text metrics
// compare the best of them with the texts of the data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "evaluation/program.h"
#include "trivet/extensions/batch_decoder.h"
#include "trivet/text_metric.h"

namespace trivet {

class RunDecode final : public Program {
 public:
  // Builds the text metrics of the set.
  RunDecode(Task& task, const BatchDecoder& decoder, const EvalInputConfig& set,
            std::uint64_t seed);

  void begin() override;
  // Outputs have the columns of decoded_examples.h.
  void add(const Batch& batch, const ProgramStep& step) override;
  // The text metrics, and "examples".
  Logs result(std::int64_t global_step) override;

 private:
  struct Score {
    ConfigOf<TextMetric> config;
    std::unique_ptr<TextMetric> metric;
  };
  void score(const DecodedExample& example, std::int64_t number);

  Task& task_;
  const BatchDecoder& decoder_;
  BatchDecodeOptions options_;
  std::vector<Score> scores_;
  std::int64_t examples_ = 0;
};

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// How a task whose model writes texts decodes the examples of a batch: what a program that decodes
// asks for. The task derives from BatchDecoder, too.
//
// Example (sdk/examples/snippets/task_extensions.cpp#batch_decoder):
//
//   const void* extension(std::string_view id) const noexcept override {
//     return id == kTaskBatchDecoder ? static_cast<const BatchDecoder*>(this) : nullptr;
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/model.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

// Id for Task::extension; what it returns points to a BatchDecoder.
inline constexpr std::string_view kTaskBatchDecoder = "trivet.task.batch_decoder/1";

struct BatchDecodeOptions {
  std::int64_t num_samples = 1;
  std::uint64_t seed = 0;
  // Number of the batch's first row in the data: with the seed it determines the random numbers.
  std::uint64_t first_example = 0;
};

// What was written for one example.
struct DecodedExample {
  std::string prompt;                   // or the source
  std::vector<std::string> samples;     // best first
  std::vector<double> scores;           // of each sample: log probability, nats
  std::vector<std::string> references;  // the texts of the data; none where it has none
};

class BatchDecoder {
 public:
  // One entry for each row of the batch; nothing for a row of weight 0. `model` was made by the
  // task's build_model and has its weights. Throws UsageError for a batch that cannot be decoded.
  // [run-thread]
  virtual std::vector<std::optional<DecodedExample>> decode(
      const Batch& batch, Model& model, const BatchDecodeOptions& options) const = 0;

 protected:
  ~BatchDecoder() = default;
};

}  // namespace trivet

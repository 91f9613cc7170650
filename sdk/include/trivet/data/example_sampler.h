// SPDX-License-Identifier: Apache-2.0
// ExampleSampler: the order of examples: epochs, shuffling, hosts and the remainder, without a
// buffer. What an Input over a known number of examples needs, whatever they are.
//
// Example (sdk/examples/snippets/example_sampler.cpp#get_next):
//
//   std::optional<Batch> get_next() override {
//     if (!order_.next(samples_)) return std::nullopt;
//     Batch batch = read(samples_);  // sample i is row i of the batch
//     batch.set("weight", order_.weights(samples_));
//     return batch;
//   }
//
// All hosts read one global sequence: at position p of epoch e stands example p, or with shuffling
// the p-th of a permutation keyed by (seed, e). A global batch takes batch_size * num_infeed_hosts
// positions; host h has the h-th batch_size of them. So where a run stands is (epoch, position),
// and hosts together give the same batches as one host with their global batch size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/data/phase.h"
#include "trivet/input.h"
#include "trivet/tensor/random.h"

namespace trivet {

class TRIVET_API ExampleSampler {
 public:
  // Throws InputError when `examples` make no batch. `data` names them, for messages.
  ExampleSampler(const InputConfig& config, Phase phase, std::int64_t examples, std::string data);

  struct Sample {
    std::int64_t example = 0;
    bool real = true;        // false: padding, the example is a stand-in
    std::int64_t epoch = 0;  // the pass over the data that it is of
  };
  // Fills batch_size samples of this host and moves on; false at the end of the data.
  bool next(std::vector<Sample>& samples);
  // The "weight" of a batch, f32 [batch_size]: 1 for examples, 0 for padding. Batches without
  // padding share one tensor.
  Tensor weights(const std::vector<Sample>& samples);

  void reset() { location_ = {}; }
  std::int64_t batches_per_epoch() const;
  std::int64_t examples() const { return examples_; }

  // What Input::save_state needs: {epoch, position, examples}; more may be set beside it.
  Value save_state() const;
  // Throws InputError for a state that is none, or is one of another number of examples. `input` is
  // the name in the input's context.
  void restore_state(const Value& state, const std::string& input);

 private:
  struct Location {
    std::int64_t epoch = 0;
    std::int64_t position = 0;  // of the global sequence in this epoch
  };
  std::int64_t example_at(std::int64_t position);

  std::string data_;
  std::int64_t examples_, batch_, global_batch_, first_of_host_;
  std::int64_t epochs_;  // 0: without end
  bool shuffle_, pad_;
  RngKey key_;
  Location location_;
  std::optional<Permutation> permutation_;  // of permutation_epoch_
  std::int64_t permutation_epoch_ = -1;
  Tensor ones_;  // the weights of a batch without padding
};

}  // namespace trivet

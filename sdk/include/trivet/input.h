// SPDX-License-Identifier: Apache-2.0
// Input: feeds batches to a run.
//
// Every process of a run has its own Input; `infeed_host_index` of `num_infeed_hosts` tells which
// share of the data is its own. The global batch is batch_size * num_infeed_hosts, and all hosts
// end after the same number of batches. The runtime calls an Input from one thread at a time,
// usually a prefetch thread, never from two at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/data/phase.h"
#include "trivet/object.h"
#include "trivet/tensor/nested_map.h"
#include "trivet/tensor/random.h"

namespace trivet {

class Tokenizer;

struct InputConfig {
  std::int64_t batch_size = 0;
  std::int64_t num_infeed_hosts = 1;
  std::int64_t infeed_host_index = 0;
  bool shuffle = false;
  std::int64_t seed = 0;
  std::int64_t epochs = 0;
  bool drop_remainder = false;
  std::int64_t prefetch = 2;

  TRIVET_API void validate(Diagnostics& diagnostics) const;  // infeed_host_index < num_infeed_hosts
};
TRIVET_CONFIG(InputConfig, trivet::NoBase,
              (batch_size, "Examples per batch on this host.", required, at_least(1)),
              (num_infeed_hosts, "Hosts that share the data.", at_least(1)),
              (infeed_host_index, "Index of this host.", at_least(0)),
              (shuffle, "A new order every epoch, from the seed alone."),
              (seed, "Seed of the order and of generated data."),
              (epochs, "Passes over the data; 0: without end in training, one in evaluation.",
               at_least(0)),
              (drop_remainder,
               "Drops the last batch if it is not full. If false, the batch is padded with copies "
               "whose weight is 0."),
              (prefetch, "Batches made ahead on another thread; 0: none.", at_least(0),
               at_most(64)))

struct InputContext {
  Phase phase = Phase::training;
  std::string name = "input";  // for messages, e.g. "task.train_input"
  // The task's, for inputs of text that have none of their own; null where the task has none. An
  // input made of inputs hands it on.
  std::shared_ptr<const Tokenizer> tokenizer{};
  // A file of examples to predict, or "-" for standard input. If it is set, an input that
  // implements ExampleLocations (trivet/extensions/example_locations.h) reads these in place of its
  // own data, which need not exist.
  std::string examples{};
};

class TRIVET_API Input : public Object {
 public:
  static constexpr std::string_view kKind = "input";
  using Config = InputConfig;
  using Context = InputContext;

  ~Input() override;

  // Called at most once, before the first batch is asked for, when the rest of the run is made: an
  // input that works ahead begins here. Only the training input of a new run is started; one that
  // restores a state, and one for evaluations, begins with restore_state or get_next. An input made
  // of inputs starts them. Default: nothing. [run-thread]
  virtual void start();

  // The next batch, in host tensors (Tensor::host) whose first extent is batch_size, or nothing at
  // the end of the data. "weight" f32 [batch_size], where present, is 1 for real examples and 0 for
  // padding. Throws InputError (file and record) for unreadable data. [input-thread]
  virtual std::optional<Batch> get_next() = 0;

  // Starts over. Called between evaluations, never in training. [input-thread]
  virtual void reset() = 0;

  // The position in the data, from which restore_state on any Input of the same config, fresh or
  // not, gives the batches that would have come next. Small (a few numbers), not the data.
  // restore_state throws Error for a state that it cannot take. [input-thread]
  virtual Value save_state() const = 0;
  virtual void restore_state(const Value& state) = 0;

  // Batches per pass over the data on this host; nothing for endless or unknown. [run-thread]
  virtual std::optional<std::int64_t> batches_per_epoch() const;
};

// input.get_next(); what it throws gets the name of the input's plugin and its location in the
// config it was made from.
TRIVET_API std::optional<Batch> next_batch(Input& input, const ConfigOf<Input>& config);

// The batch that comes next. It is not taken: the input keeps its position, and makes the batch
// again for get_next. Nothing at the end of the data. [input-thread]
TRIVET_API std::optional<Batch> peek(Input& input);

}  // namespace trivet

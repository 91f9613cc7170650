// SPDX-License-Identifier: Apache-2.0
// Evaluations: all data sets that a trainer evaluates, kept open from one evaluation to the next.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "evaluation/evaluation.h"
#include "trivet/config/value.h"

namespace trivet {

class Evaluations {
 public:
  struct Options {
    ConfigOf<Input> eval_input;     // of the task, or of a stage
    bool main = true;               // evaluates it
    std::vector<std::size_t> sets;  // indexes in eval_sets()
    ValidationData data = ValidationData::restart;
    std::uint64_t seed = 0;
    ShardRange shards{};                // of the mesh, those of this process
    ProcessGroup* processes = nullptr;  // that have the others; null: none
  };
  // Opens all. The task must outlive this object.
  Evaluations(Task& task, const Options& options);

  // Throws Error for one that is not open.
  Evaluation& main();
  Evaluation& set(std::size_t index);

  // Opens options.eval_input in place of the present one, unless it is the same.
  void use_main(const Options& options);

  // The positions of all: "eval_input", and "eval_inputs" by name. Members that a checkpoint does
  // not have leave the position as it is.
  Value save_main() const;
  Value save_sets() const;
  void restore_main(const Value& state);
  void restore_sets(const Value& states);
  bool has_main() const { return main_ != nullptr; }
  bool has_sets() const { return !sets_.empty(); }

 private:
  Task& task_;
  ConfigOf<Input> eval_input_;
  std::vector<EvalSet> all_;
  std::unique_ptr<Evaluation> main_;
  std::map<std::size_t, std::unique_ptr<Evaluation>> sets_;  // by index
};

}  // namespace trivet

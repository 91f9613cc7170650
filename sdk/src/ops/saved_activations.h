// SPDX-License-Identifier: Apache-2.0
// Results of single ops that rematerialization keeps: they are not computed a second time.
//
// While a SavingActivations lives, the ops that ask for it put their results there in the order in
// which they run; in the second run, which does the same, they find them in that order.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "trivet/tensor.h"

namespace trivet::detail {

struct SavedActivations {
  std::vector<std::vector<Tensor>> of_op;
};

class SavingActivations {
 public:
  enum class Run { first, again };

  // Keeps nothing where `results` is null. The second run gets what the first one has kept.
  SavingActivations(SavedActivations* results, Run run);
  ~SavingActivations();  // the one before is current again
  SavingActivations(const SavingActivations&) = delete;
  SavingActivations& operator=(const SavingActivations&) = delete;

  // What `compute` gives, or gave in the first run, off any tape.
  static std::vector<Tensor> kept(const std::function<std::vector<Tensor>()>& compute);

 private:
  SavedActivations* results_;
  Run run_;
  std::size_t next_ = 0;
  SavingActivations* previous_;
};

}  // namespace trivet::detail

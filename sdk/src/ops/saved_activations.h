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
  // Keeps nothing where `results` is null. `again`: gives what is there.
  SavingActivations(SavedActivations* results, bool again);
  ~SavingActivations();  // the one before is current again
  SavingActivations(const SavingActivations&) = delete;
  SavingActivations& operator=(const SavingActivations&) = delete;

  // What `compute` gives, or gave in the first run, off any tape.
  static std::vector<Tensor> kept(const std::function<std::vector<Tensor>()>& compute);

 private:
  SavedActivations* results_;
  bool again_;
  std::size_t next_ = 0;
  SavingActivations* previous_;
};

}  // namespace trivet::detail

// SPDX-License-Identifier: Apache-2.0
// Results of single ops that rematerialisation keeps: they are not computed a second time.
//
// While a Keeping lives, the ops that ask for it put their results there in the order in which they
// run; in the second run, which does the same, they find them in that order.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "trivet/tensor.h"

namespace trivet::detail {

struct KeptResults {
  std::vector<std::vector<Tensor>> of_op;
};

class Keeping {
 public:
  // Keeps nothing where `results` is null. `again`: gives what is there.
  Keeping(KeptResults* results, bool again);
  ~Keeping();  // the one before is current again
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;

  // What `compute` gives, or gave in the first run, off any tape.
  static std::vector<Tensor> kept(const std::function<std::vector<Tensor>()>& compute);

 private:
  KeptResults* results_;
  bool again_;
  std::size_t next_ = 0;
  Keeping* previous_;
};

}  // namespace trivet::detail

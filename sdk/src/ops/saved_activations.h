// SPDX-License-Identifier: Apache-2.0
// Results of single ops that rematerialization keeps: they are not computed a second time.
//
// While a SavingActivations lives, the ops that ask for it put their results there in the order in
// which they run; in the second run, which does the same, they find them in that order.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "trivet/ops.h"
#include "trivet/ops/remat_keeps.h"
#include "trivet/tensor.h"

namespace trivet::detail {

// Who asks for its results to be kept.
struct KeptOp {
  enum class Kind {
    product,        // without batch dimensions
    other_product,  // with them, attention, or a convolution
    function,       // rematerialized itself; kept by name alone
  };
  const char* name;
  Kind kind;
  // What no gradient flows through keeps nothing without rematerialization, and so nothing with it.
  enum class OnTape { no, yes } on_tape;
};

inline KeptOp::OnTape on_tape(bool recorded) {
  return recorded ? KeptOp::OnTape::yes : KeptOp::OnTape::no;
}

class SavedActivations {
 public:
  explicit SavedActivations(RematKeeps keeps) : keeps_(std::move(keeps)) {}

 private:
  friend class SavingActivations;
  struct Result {
    const char* op;
    std::vector<Tensor> tensors;      // empty: the op computes them again
    std::vector<std::string> labels;  // what the op needs to know beside them
  };
  bool wants(const KeptOp& op) const;
  Tensor stored(const Tensor& x);
  Tensor fetched(const Tensor& x) const;

  RematKeeps keeps_;
  Device* device_ = nullptr;  // of what is on the host
  std::vector<Result> results_;
};

class SavingActivations {
 public:
  enum class Run { first, again };

  // Keeps nothing where `results` is null. The second run gets what the first one has kept.
  SavingActivations(SavedActivations* results, Run run);
  ~SavingActivations();  // the one before is current again
  SavingActivations(const SavingActivations&) = delete;
  SavingActivations& operator=(const SavingActivations&) = delete;

  // In the second run what the op has kept in the first, on the device and off any tape; empty if
  // it must compute. An op that calls this calls keep() too if it gets nothing. Throws Error if the
  // second run does something else than the first.
  static std::vector<Tensor> known(const KeptOp& op, std::vector<std::string>* labels = nullptr);
  // In the first run: keeps the results if the policy wants them. Empty ones are to be computed
  // again. Tensors may be undefined.
  static void keep(const KeptOp& op, const std::vector<Tensor>& results,
                   std::vector<std::string> labels = {});

  // Both around `compute`, which runs no op that is kept itself.
  static std::vector<Tensor> kept(const KeptOp& op,
                                  const std::function<std::vector<Tensor>()>& compute);

  // What a kernel gives that computes a product and an activation of it.
  struct Activated {
    Tensor y;    // undefined: there is no such kernel
    Tensor pre;  // the activation's input, if its gradient needs that
  };
  // The same for it. Of y and pre only pre is kept, if there is a kernel that gives y for it.
  static Activated kept(const KeptOp& op, Activation act,
                        const std::function<Activated()>& compute);

 private:
  SavedActivations* results_;
  Run run_;
  std::size_t next_ = 0;
  SavingActivations* outer_;
  CheckpointName unnamed_{{}};
};

}  // namespace trivet::detail

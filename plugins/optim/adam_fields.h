// SPDX-License-Identifier: Apache-2.0
// The fields that Adam and AdamW share, and those of them that Lamb has.
#pragma once

#include "optim/parts/moments.h"
#include "optim/parts/slot_dtype.h"
#include "trivet/config.h"

namespace trivet::optim {

// On top of OptimizerConfig or DecayConfig. adam.h says what the fields do.
template <class Base>
struct AdamFields : Base {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double epsilon_root = 0;
  bool epsilon_hat = false;
  bool amsgrad = false;
  double clip_threshold = 0;
  MomentumDtype m_dtype = MomentumDtype::float32;

  void validate(Diagnostics& diagnostics) const {
    if constexpr (requires(const Base& base) { base.validate(diagnostics); }) {
      Base::validate(diagnostics);
    }
    expect_below_one(diagnostics, "beta1", beta1);
    expect_below_one(diagnostics, "beta2", beta2);
  }
};

}  // namespace trivet::optim

// For TRIVET_CONFIG.
#define TRIVET_MOMENT_FIELDS                                                                     \
  (beta1, "Decay of the mean of gradients.", at_least(0), less_than(1), adjustable),             \
      (beta2, "Decay of the mean of squared gradients.", at_least(0), less_than(1), adjustable), \
      (epsilon, "Constant added to the root of the squares.", at_least(0), adjustable)

#define TRIVET_ADAM_FIELDS                                                                      \
  TRIVET_MOMENT_FIELDS,                                                                         \
      (epsilon_root, "Constant added to the squares under the root.", at_least(0), adjustable), \
      (m_dtype, "Type of the stored mean of gradients; bfloat16 halves its memory."),           \
      (epsilon_hat, "Epsilon is added before the bias correction, as Keras does.", adjustable), \
      (amsgrad, "Divides by the largest mean of squared gradients so far."),                    \
      (clip_threshold,                                                                          \
       "Largest root mean square of a variable's update before learning rate and weight "       \
       "decay; 0: none. Praxis' default is 1.",                                                 \
       at_least(0), adjustable)

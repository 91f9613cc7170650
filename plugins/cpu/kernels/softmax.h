// SPDX-License-Identifier: Apache-2.0
// Row functions of softmax cross entropy, for softmax_xent and linear_xent. They read the fields of
// the arguments that belong to the row, but not the arrays of logits.
#pragma once

#include <cstdint>

#include <trivet/backend/backend.h>

namespace cpu {

// Writes loss and lse of row r, whose logits are x.
void loss_row(const tv_softmax_xent& d, std::int64_t r, const float* x);

// Writes the gradient of row r to dx, which may be x. Reads lse.
void gradient_row(const tv_softmax_xent& d, std::int64_t r, const float* x, float* dx);

// Returns an error if a target is not a class. Negative targets are ignored in the loss.
tv_status check_targets(tv_ctx* ctx, const char* function, const std::int32_t* targets,
                        std::int64_t rows, std::int64_t classes);

}  // namespace cpu

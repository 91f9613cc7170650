// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling out of the mandatory functions of a backend, for those without kernels.
//
// Both go over patches: every window of the padded image as a row, which is one strided copy. The
// way back adds, for each tap of the window, a strided slice of the image. Nothing here records.
#pragma once

#include "trivet/backend/kernels/vision.h"
#include "trivet/tape.h"
#include "trivet/tensor.h"

namespace trivet::compose {

// All windows as [B * OH * OW, KH * KW, C]; positions outside the image hold `outside`.
Tensor patches(const Tensor& image, const tv_conv2d_shape& shape, double outside);
// The gradient of `patches`: dpatches [B * OH * OW, KH * KW, C] -> [B, H, W, C].
Tensor add_patches(const Tensor& dpatches, const tv_conv2d_shape& shape);

// No activation. b may be undefined.
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& b, const tv_conv2d_shape& shape);
// dz is the gradient before the activation; dx, dw, db are made where wanted.
Tensor conv2d_dx(const Tensor& dz, const Tensor& w, const tv_conv2d_shape& shape);
void conv2d_dw(const Tensor& x, const Tensor& dz, const tv_conv2d_shape& shape, Vjp::Target dw);
void conv2d_db(const Tensor& dz, Vjp::Target db);

struct MaxPool {
  Tensor y, argmax;  // argmax i32 [B * OH * OW, C]: tap of the window
};
MaxPool max_pool2d(const Tensor& x, const tv_conv2d_shape& shape);
Tensor max_pool2d_dx(const Tensor& dy, const Tensor& argmax, const tv_conv2d_shape& shape);
Tensor avg_pool2d(const Tensor& x, const tv_conv2d_shape& shape);
Tensor avg_pool2d_dx(const Tensor& dy, const tv_conv2d_shape& shape);

}  // namespace trivet::compose

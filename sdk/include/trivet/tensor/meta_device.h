// SPDX-License-Identifier: Apache-2.0
// a meta device: every op runs on it, with its shapes, checks, tape, FLOPs and memory plan, and
// none computes anything. Memory is addresses that nobody holds, so a model of any size is built
// and takes training steps in seconds; what `trivet summary --abstract` tells comes from there.
//
// Tensors have no values: reading one gives zeros. Parameters are not drawn. A task whose data may
// be missing gives an input of its own where the device is a meta device (Task::build_inputs), with
// batches of the right shape; its tokenizer or the like may be left unopened.
#pragma once

#include <memory>

#include "trivet/base/export.h"
#include "trivet/tensor/device.h"

namespace trivet {

// Answers the functions that `like` has, as far as its table says (it is not opened), so that
// memory is counted as for that backend; those it has not are composed. The options' `options` are
// not passed on, as nothing takes them. Throws Error as Device::open does for a table that lacks
// mandatory functions.
TRIVET_API std::unique_ptr<Device> open_meta_device(const tv_backend* like,
                                                    DeviceOptions options = {});

TRIVET_API bool is_meta(const Device& device);

}  // namespace trivet

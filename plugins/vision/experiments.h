// SPDX-License-Identifier: Apache-2.0
// The experiments that this plugin registers. Those on real data are files, see meson.build.
#pragma once

#include "trivet/experiment.h"

namespace trivet::vision {

// Ten classes of made-up images of 16 x 16 pixels and a small Mlp: seconds, and nothing to fetch.
ExperimentConfig mnist_local();

// The inputs give the images and the labels that the model is made for.
void fits_its_inputs(const ExperimentConfig& config, Diagnostics& diagnostics);

}  // namespace trivet::vision

// SPDX-License-Identifier: Apache-2.0
// The experiments that this plugin registers. Experiments on real data are files, see meson.build.
#pragma once

#include "trivet/experiment.h"

namespace trivet::vision {

// Ten classes of generated 16 x 16 images and a small Mlp: takes seconds and needs no download.
ExperimentConfig mnist_local();

// Checks that the inputs have the images and labels that the model expects.
void fits_its_inputs(const ExperimentConfig& config, Diagnostics& diagnostics);

}  // namespace trivet::vision

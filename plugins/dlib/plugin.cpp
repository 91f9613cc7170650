// SPDX-License-Identifier: Apache-2.0
// The plugin "dlib": the global search of the dlib library, to compare other samplers with.
#include "trivet/plugin.h"

#include "global_search.h"

TRIVET_PLUGIN(({.name = "dlib",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "The global search of the dlib library."}),
              trivet::sampler<trivet::dlib::GlobalSearch>("GlobalSearch",
                                                          "Upper bounds and trust regions."))

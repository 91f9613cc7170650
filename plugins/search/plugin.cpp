// SPDX-License-Identifier: Apache-2.0
// The plugin "search": searches for good hyper-parameters, one work unit per trial.
#include "trivet/plugin.h"

#include "search/samplers/cma_es.h"
#include "search/samplers/gaussian_process.h"
#include "search/samplers/nsga2.h"
#include "search/samplers/random.h"
#include "search/samplers/regularized_evolution.h"
#include "search/samplers/sobol.h"
#include "search/samplers/tpe.h"
#include "search/stoppers/asha.h"
#include "search/stoppers/by_rank.h"
#include "search/stoppers/by_value.h"
#include "search/stoppers/median.h"
#include "search/study/search_orchestrator.h"

namespace search = trivet::search;

TRIVET_PLUGIN(
    ({.name = "search",
      .version = "1.0.0",
      .license = "Apache-2.0",
      .doc = "Search for hyper-parameters."}),
    trivet::orchestrator<search::SearchOrchestrator>("Orchestrator",
                                                     "Searches: makes a unit of each trial."),
    trivet::sampler<search::Random>("Random", "Points drawn from the whole space."),
    trivet::sampler<search::Sobol>("Sobol", "A sequence that fills the space evenly."),
    trivet::sampler<search::Tpe>("Tpe", "Tree-structured Parzen estimator."),
    trivet::sampler<search::CmaEs>("CmaEs", "Evolution by an adapting normal distribution."),
    trivet::sampler<search::Nsga2>("Nsga2", "Genetic algorithm for several objectives, or one."),
    trivet::sampler<search::RegularizedEvolution>("RegularizedEvolution",
                                                  "Mutates the best of some of the young trials."),
    trivet::sampler<search::GaussianProcess>("GaussianProcess",
                                             "Greatest expected improvement of a regression."),
    trivet::stopper<search::Median>("Median",
                                    "Stops trials that are worse than the median of the others."),
    trivet::stopper<search::ByValue>("ByValue",
                                     "Stops trials that are worse than a threshold at a step."),
    trivet::stopper<search::ByRank>("ByRank", "Stops trials below a rank at a step."),
    trivet::stopper<search::Asha>("Asha", "Asynchronous successive halving."))

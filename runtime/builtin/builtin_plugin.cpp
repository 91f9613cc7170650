// SPDX-License-Identifier: Apache-2.0
#include "builtin/builtin_plugin.h"

#include <string>
#include <utility>

#include "builtin/builtin_actions.h"
#include "builtin/config_jobs.h"
#include "builtin/early_stop.h"
#include "host/item_collector.h"
#include "train/default_trainer.h"
#include "train/progressive_trainer.h"
#include "trivet/launch/subdir_format.h"
#include "trivet/plugin.h"
#include "trivet/version.h"

namespace trivet {

void register_builtin_plugin() {
  static const bool done = [] {
    constexpr About about{.name = "trivet", .doc = "Items that are part of the program."};
    ItemCollector collector;
    detail::register_item(
        collector, about,
        trainer<DefaultTrainer>("Trainer",
                                "One task, one model, one optimizer; evaluation in between."));
    const auto add = [&](const auto& item) { detail::register_item(collector, about, item); };
    add(trainer<ProgressiveTrainer>("Progressive",
                                    "Stages, each with a model, data and an optimizer."));
    add(action<Periodic>("Periodic", "Runs actions at an interval of steps."));
    add(action<When>("When", "Runs actions while a number is above or below a bound."));
    add(action<NewBest>("NewBest", "Runs actions when a number is the best so far."));
    add(action<Stop>("Stop", "Ends the training."));
    add(action<EarlyStop>("EarlyStop",
                          "Ends the training at a target, or when a number improves no more."));
    add(action<ExportWeights>("Export", "Writes the weights to a separate directory."));
    add(jobs<EmptyJobs>("EmptyJobs", "Adds no jobs to those of [xp.jobs]."));
    add(jobs<ConfigJobs>("ConfigJobs", "trivet run with the run's config."));
    add(subdir<launch::SubdirFormat>("SubdirFormat", "Directories named by placeholders."));
    registry().add(
        {.name = std::string(about.name), .version = std::string(version()), .file = "(built in)"},
        std::move(collector.items));
    return true;
  }();
  (void)done;
}

}  // namespace trivet

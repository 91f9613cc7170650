// SPDX-License-Identifier: Apache-2.0
//
// The run's config of an experiment: the file that all units start from, and what their command
// lines say beside the sweep.
#pragma once

#include <string>
#include <vector>

#include "config/override.h"
#include "config/resolver.h"
#include "trivet/launch/sweep_info.h"

namespace trivet {

// The text of the experiment's config.toml: what files and overrides say, references as they are
// written, so that a unit resolves them with its own values. Of [xp] there is what references name.
std::string unit_config_text(const ResolvedLaunch& launch);

// The overrides of the run's config, each as a word that says it again.
std::vector<std::string> run_overrides(const std::vector<Override>& overrides);

// Those of `overrides` that stand inside what the item changes: its values would replace them. With
// globs, whose reach the item may change, all of them.
std::vector<std::string> said_again(const std::vector<std::string>& overrides,
                                    const SweepItem& item);

// Without the overrides that stand inside what --sweep (PATH=V1,V2) varies: they belong to the
// units, and need not fit what the config has there.
ConfigRequest without_swept(ConfigRequest request, const std::vector<std::string>& sweeps);

// The overrides for an item's values, number `number` of its sweep in messages.
std::vector<Override> item_overrides(const SweepItem& item, std::size_t number);

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
//
// The run's config of an experiment as its jobs get it. Where units vary it, their runs start from
// what files say and say all overrides themselves, so that each resolves the same layers as one
// command with the same words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/overrides/override.h"
#include "config/resolver.h"
#include "trivet/launch/sweep_info.h"

namespace trivet {

// References stand in both texts as they are written; of [xp] there is what they name.
struct UnitConfig {
  std::string text;                // what files and overrides say
  std::string files_text;          // what files say: with `words`, where there are any
  std::vector<std::string> words;  // what the run of each unit says beside its item
};

// `varied`: whether units vary the config, by `items` or by others that are made later.
UnitConfig unit_config(const ResolvedLaunch& launch, const std::vector<Override>& overrides,
                       bool varied, const std::vector<SweepItem>& items);

// The overrides of the run's config, each as a word that says it again.
std::vector<std::string> run_overrides(const std::vector<Override>& overrides);

// Those of `words` that stand inside what the item changes: they are no part of the config that all
// units share. With globs, whose reach the item may change, all of them.
std::vector<std::string> said_inside(const std::vector<std::string>& words, const SweepItem& item);

// Without the overrides that stand inside what --sweep (PATH=V1,V2) varies: they belong to the
// units, and need not fit what the config has there.
ConfigRequest without_swept(ConfigRequest request, const std::vector<std::string>& sweeps);

// The overrides for an item's values, number `number` of its sweep in messages.
std::vector<Override> item_overrides(const SweepItem& item, std::size_t number);

}  // namespace trivet

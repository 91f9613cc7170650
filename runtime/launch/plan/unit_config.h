// SPDX-License-Identifier: Apache-2.0
// The run's config of an experiment for its jobs. If units vary it, their runs start from the
// config of the files and get all overrides as words, so each resolves the same layers as a command
// with the same words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/overrides/override.h"
#include "config/resolver.h"
#include "trivet/launch/sweep_info.h"

namespace trivet {

// Both texts keep references unresolved and contain the members of [xp] that they name.
struct UnitConfig {
  std::string text;                // files and overrides
  std::string files_text;          // files only; used with `words`, if any
  std::vector<std::string> words;  // overrides of each unit's run, besides its item
};

// Whether units vary the config, by `items` or by items that are added later.
enum class Units { alike, varied };

UnitConfig unit_config(const ResolvedLaunch& launch, const std::vector<Override>& overrides,
                       Units units, const std::vector<launch::SweepItem>& items);

// The overrides of the run's config, each as a word.
std::vector<std::string> run_overrides(const std::vector<Override>& overrides);

// The `words` below values that the item changes: they are not part of the config that all units
// share. All words if there are globs, whose matches the item may change.
std::vector<std::string> said_inside(const std::vector<std::string>& words,
                                     const launch::SweepItem& item);

// Without the overrides below values that --sweep (PATH=V1,V2) varies: they belong to the units and
// may not fit the shared config.
ConfigRequest without_swept(ConfigRequest request, const std::vector<std::string>& sweeps);

// The overrides for the values of an item; messages name it by `number`.
std::vector<Override> item_overrides(const launch::SweepItem& item, std::size_t number);

}  // namespace trivet

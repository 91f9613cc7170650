// SPDX-License-Identifier: Apache-2.0
// Finds the run in the arguments of commands that use its model.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"
#include "run/trained_model.h"
#include "trivet/command.h"

namespace trivet {

// `word` is a directory, or a work unit as XID/WID. Throws UsageError if it does not exist.
std::filesystem::path run_named(const std::string& word);

// The run's config with the values of --set, each K=V, applied.
ResolvedConfig trained_config(const RunCheckpoint& location, std::span<const std::string> overrides,
                              ConfigCatalog& catalog);

// CommandContext::trained.
std::unique_ptr<TrainedRun> open_trained(const std::string& run,
                                         std::span<const std::string> overrides,
                                         ConfigCatalog& catalog);

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// Writes texts as token files for data/Tokens: DIR/tokens-00000.bin, ... and DIR/data.toml, which
// records their source.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/tokens/tokenize.h"
#include "trivet/extensions/preparation.h"

namespace trivet::data {

// Reads texts once for their digest, which shows whether DIR already holds them, and again to
// tokenize them, one document at a time. Keeps a shard of ids in memory until it is written.
// Refuses a pipeline with inputs, since token files do not record which tokens are inputs.
PreparedData prepare_tokens(const TextPipeline& pipeline, const std::filesystem::path& directory,
                            std::uint64_t shard_bytes);

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
// Texts as token files that data/Tokens reads: DIR/tokens-00000.bin, ... and DIR/data.toml, which
// says what they were made of.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/tokens/tokenize.h"
#include "trivet/extensions/preparation.h"

namespace trivet::data {

// Texts are read once for their digest, which decides whether what is there is theirs, and again to
// be tokenized, a document at a time; a shard of ids is kept in memory until it is written.
// Which tokens are of inputs is not kept: what has inputs cannot be prepared and says so.
PreparedData prepare_tokens(const TextPipeline& pipeline, const std::filesystem::path& directory,
                            std::uint64_t shard_bytes);

}  // namespace trivet::data

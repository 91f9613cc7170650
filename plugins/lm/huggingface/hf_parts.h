// SPDX-License-Identifier: Apache-2.0
// Shared by the Hugging Face layouts: activations, and the parts of task.model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lm/huggingface/decoder_shape.h"
#include "lm/huggingface/hf_config.h"
#include "trivet/config/value.h"

namespace trivet::lm {

// Returns the name of an activation in config.json that has a layer.
std::string activation_in(const HfConfig& config, std::string_view field,
                          const std::string& otherwise);
// Returns the layer as a table.
Value activation_layer(std::string_view name);
// Returns the name for a layer with all its fields; empty if there is none.
std::string activation_name(std::string_view type, const Value& fields);

// Returns task.model with `block`, the norm `norm_type`, and a head according to the shape.
Value decoder_model(const DecoderShape& shape, const char* norm_type, Value block);

Value id_or_null(const std::optional<std::int32_t>& id);

// "transformer/layer_3/".
std::string block_path(std::int64_t layer);

}  // namespace trivet::lm

// SPDX-License-Identifier: Apache-2.0
#include "text_input.h"

#include "text_files.h"

namespace trivet::data {

TextFilesInput::TextFilesInput(const Config& config, InputContext& context)
    : TextSequenceInput(config, context, std::make_shared<TextFiles>(config)) {}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/text_files_input.h"

#include "data/sources/text_files.h"

namespace trivet::data {
namespace {

TextFilesConfig files_of(const TextConfig& config) {
  TextFilesConfig files;
  files.files = config.files;
  files.documents = config.documents;
  files.encoding = config.encoding;
  files.part_begin = config.part_begin;
  files.part_end = config.part_end;
  return files;
}

// Null for examples that a user gives.
std::shared_ptr<DataSource> source_of(const TextConfig& config, const InputContext& context) {
  if (!context.examples.empty()) return nullptr;
  return std::make_shared<TextFiles>(files_of(config));
}

}  // namespace

void TextConfig::validate(Diagnostics& diagnostics) const {
  SequenceConfig::validate(diagnostics);
  files_of(*this).validate(diagnostics);
}

TextFilesInput::TextFilesInput(const Config& config, InputContext& context)
    : TextSequenceInput(
          config, context,
          text_pipeline(source_of(config, context), required_tokenizer(config.tokenizer, context)),
          {}) {}

}  // namespace trivet::data

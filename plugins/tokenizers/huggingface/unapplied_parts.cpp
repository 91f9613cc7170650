// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/huggingface/unapplied_parts.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include "tokenizers/text/json_file.h"

namespace trivet::tokenizers {
namespace {

constexpr const char* kKnownPostProcessors =
    "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence";

// The tokens of a template with each of the texts once, such as "[CLS] A [SEP] B [SEP]".
std::string template_text(const JsonPart& items, const std::vector<std::string>& texts) {
  std::string shown;
  std::vector<std::string> missing = texts;
  for (const JsonPart& item : items.items()) {
    item.check_fields({"Sequence", "SpecialToken"});
    if (item.value().size() != 1) item.fail("must be a Sequence or a SpecialToken");
    const bool is_text = !item.field("Sequence").is_null();
    const JsonPart part = item.field(is_text ? "Sequence" : "SpecialToken");
    part.check_fields({"id", "type_id"});
    const std::string id = part.text("id");
    part.integer("type_id", 0);
    if (is_text && std::erase(missing, id) == 0) {
      part.field("id").fail("is " + shown_json(id) + "; the template must have " +
                            fmt::format("{}", fmt::join(texts, " and ")) + " once each");
    }
    shown += (shown.empty() ? "" : " ") + id;
  }
  if (!missing.empty()) items.fail("does not have the text " + missing.front());
  return shown;
}

std::string special_pair(const JsonPart& part, const char* name) {
  const JsonPart pair = part.field(name);
  const nlohmann::json& value = pair.value();
  if (!value.is_array() || value.size() != 2 || !value[0].is_string() ||
      !value[1].is_number_integer()) {
    pair.fail("must be [token, id], not " + shown_json(value));
  }
  return value[0].get<std::string>();
}

std::string describe_post_processor(const JsonPart& part) {
  const std::string type = part.type();
  if (type == "ByteLevel") {
    part.check_fields({"add_prefix_space", "trim_offsets", "use_regex"});
    return "A";
  }
  if (type == "TemplateProcessing") {
    part.check_fields({"single", "pair", "special_tokens"});
    if (!part.field("pair").value().empty()) template_text(part.field("pair"), {"A", "B"});
    return template_text(part.field("single"), {"A"});
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    part.check_fields({"sep", "cls", "trim_offsets", "add_prefix_space"});
    const std::string first = special_pair(part, "cls");
    return first + " A " + special_pair(part, "sep");
  }
  if (type == "Sequence") {
    part.check_fields({"processors"});
    std::string shown = "A";
    for (const JsonPart& step : part.list("processors")) {
      const std::string one = describe_post_processor(step);
      if (one == "A") continue;
      if (shown != "A") step.fail("puts special tokens around others", "use one template");
      shown = one;
    }
    return shown;
  }
  part.fail_type("post-processor", kKnownPostProcessors);
}

}  // namespace

std::vector<std::string> describe_unapplied(const JsonPart& file) {
  std::vector<std::string> lines;
  if (const JsonPart part = file.field("post_processor"); !part.is_null()) {
    const std::string shown = describe_post_processor(part);
    if (shown != "A") lines.push_back("post_processor: " + shown);
  }
  for (const char* name : {"truncation", "padding"}) {
    const JsonPart part = file.field(name);
    if (!part.is_null()) lines.push_back(fmt::format("{}: {}", name, shown_json(part.value())));
  }
  return lines;
}

std::vector<std::string> unapplied_parts(const std::filesystem::path& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path file = fs::is_directory(name, ignored) ? name / "tokenizer.json" : name;
  if (file.extension() != ".json" || !fs::exists(file, ignored)) return {};
  const nlohmann::json parsed = parse_json(read_text(file), file.string());
  std::vector<std::string> lines = describe_unapplied(JsonPart(parsed, file.string()));
  const fs::path config = file.parent_path() / "tokenizer_config.json";
  if (fs::exists(config, ignored)) {
    const nlohmann::json fields = parse_json(read_text(config), config.string());
    if (!field_of(fields, "chat_template").is_null()) {
      lines.push_back("chat_template of " + config.string());
    }
  }
  for (const char* other : {"chat_template.jinja", "chat_template.json"}) {
    const fs::path beside = file.parent_path() / other;
    if (fs::exists(beside, ignored)) lines.push_back(beside.string());
  }
  return lines;
}

}  // namespace trivet::tokenizers

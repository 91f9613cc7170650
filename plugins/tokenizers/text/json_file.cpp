// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/text/json_file.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/error.h"
#include "trivet/os/input_file.h"

namespace trivet::tokenizers {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 100;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

// Without the library's own name of the error, "[json.exception.parse_error.101] ".
std::string reason_of(const Json::exception& failure) {
  const std::string_view what = failure.what();
  const std::size_t name = what.find("] ");
  return std::string(what.substr(name == std::string_view::npos ? 0 : name + 2));
}

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  std::vector<std::set<std::string>> keys;  // keys so far of each open object
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) throw InputError(source + ": nested too deeply");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get_ref<const std::string&>()).second) {
      throw InputError(source + ": the key " + shown_json(parsed) + " occurs twice");
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& failure) {
    throw InputError(source + " is not JSON: " + reason_of(failure),
                     {.hint = "the file may be cut off, or not be JSON"});
  }
}

const Json& field_of(const Json& object, const char* name) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string type_of(const Json& object) {
  const Json& type = field_of(object, "type");
  return type.is_string() ? type.get<std::string>() : std::string();
}

std::string shown_json(const Json& value) {
  constexpr std::size_t kLongest = 60;
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

std::string read_text(const std::filesystem::path& file) {
  return input_text(file.string(), kMaxBytes);
}

}  // namespace trivet::tokenizers

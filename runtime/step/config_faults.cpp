// SPDX-License-Identifier: Apache-2.0
#include "step/config_faults.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "trivet/os/file.h"
#include "trivet/trainer.h"

namespace trivet {
namespace {

// "task.tasks[1].task.label", then "task.tasks[1].task", "task.tasks[1]", ...
Origin location_of(const Value& config, std::string path) {
  while (!path.empty()) {
    const Value* found = config.find_path(path);
    if (found != nullptr && found->origin().known()) return found->origin();
    const std::size_t end = path.find_last_of(".[");
    path.resize(end == std::string::npos ? 0 : end);
  }
  return {};
}

// The path of the field in `value` whose file the message is about. Empty if there is none.
// Messages about a file start with its name as in the config.
std::string field_named(const Value& value, const std::string& path, const std::string& text) {
  if (value.is_string()) {
    const bool is_named = !value.as_string().empty() && text.starts_with(value.as_string() + ":");
    return is_named ? path : "";
  }
  std::string found;
  if (value.is_table()) {
    for (const Value::Member& member : value.members()) {
      if (member.key == "type") continue;
      found = field_named(member.value, joined_path(path, member.key), text);
      if (!found.empty()) return found;
    }
  } else if (value.is_array()) {
    for (const Value& item : value.items()) {
      found = field_named(item, path, text);
      if (!found.empty()) return found;
    }
  }
  return found;
}

// For a faulty table: the field whose file the message is about; the table itself if there is none.
std::string field_spoken_of(const Value& config, const std::string& path, const std::string& text) {
  const Value* table = config.find_path(path);
  if (table == nullptr || !table->is_table()) return path;
  const std::string field = field_named(*table, path, text);
  return field.empty() ? path : field;
}

// A location in another file, such as of a bad row, is added to the message.
Diagnostic problem_of(const Error& error, std::string_view path, const Origin& config) {
  const bool elsewhere = error.where().known() && error.where().file != config.file;
  return {.where = {},
          .path = error.path().empty() ? std::string(path) : error.path(),
          .what = (elsewhere ? to_string(error.where()) + ": " : "") + error.message(),
          .hint = error.hint()};
}

}  // namespace

// Errors keep the system's message but not its number.
bool is_of_machine(const Error& error) {
  constexpr std::array kReasons = {EIO,    ESTALE, EMFILE,    ENFILE, ENOMEM,
                                   ENOSPC, EDQUOT, ETIMEDOUT, EINTR,  EAGAIN};
  const auto* file = dynamic_cast<const FileError*>(&error);
  if (file != nullptr && file->may_pass()) return true;
  for (const int reason : kReasons) {
    const std::string text = std::generic_category().message(reason);
    if (error.message().find(text) != std::string::npos) return true;
  }
  return false;
}

void build_from_config(std::string_view path, const Origin& config,
                       const std::function<void()>& build) {
  try {
    build();
  } catch (const DivergedError&) {
    throw;
  } catch (const RunError& error) {
    const bool is_known = !path.empty() || error.path().starts_with("task");
    if (is_of_machine(error) || !is_known) throw;
    throw ConfigError(problem_of(error, path, config));
  }
}

void with_locations(const Value& config, const std::function<void()>& work) {
  try {
    work();
  } catch (const ConfigError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& problem : diagnostics) {
      if (problem.where.known()) continue;
      // What problem_of() added, if the other file is one of the config's own.
      const std::string own = to_string(location_of(config, problem.path)) + ": ";
      if (problem.what.starts_with(own)) problem.what.erase(0, own.size());
      if (!problem.path.empty()) {
        problem.path = field_spoken_of(config, problem.path, problem.what);
      }
      problem.where = location_of(config, problem.path);
    }
    throw ConfigError(std::move(diagnostics));
  }
}

}  // namespace trivet

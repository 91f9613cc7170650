// SPDX-License-Identifier: Apache-2.0
// Texts of errors and the one home of their typeinfo.
#include "trivet/error.h"

#include <utility>

namespace trivet {

std::string to_string(const Origin& origin) {
  std::string text = origin.file;
  if (origin.line > 0) text += ":" + std::to_string(origin.line);
  if (origin.line > 0 && origin.column > 0) text += ":" + std::to_string(origin.column);
  if (origin.note.empty()) return text;
  return text.empty() ? origin.note : text + " (" + origin.note + ")";
}

namespace {

std::string located(const Origin& where, const std::string& path, const std::string& what,
                    const std::string& hint) {
  std::string text = to_string(where);
  if (!path.empty()) text += (text.empty() ? "" : ": ") + path;
  text += (text.empty() ? "" : ": ") + what;
  if (!hint.empty()) text += " (" + hint + ")";
  return text;
}

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& problem : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(problem);
  }
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& problem) {
  return located(problem.where, problem.path, problem.what, problem.hint);
}

Error::Error(std::string message, ErrorDetails details)
    : std::runtime_error(""), message_(std::move(message)), details_(std::move(details)) {
  compose();
}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

const char* Error::what() const noexcept {
  return text_.c_str();
}

int Error::exit_code() const noexcept {
  return 1;
}

void Error::set_message(std::string message) {
  message_ = std::move(message);
  compose();
}

void Error::amend(const ErrorDetails& details) {
  const auto fill = [](std::string& mine, const std::string& theirs) {
    if (mine.empty()) mine = theirs;
  };
  if (!details_.where.known()) details_.where = details.where;
  fill(details_.path, details.path);
  fill(details_.plugin, details.plugin);
  fill(details_.key, details.key);
  fill(details_.hint, details.hint);
  compose();
}

void Error::compose() {
  text_ = located(details_.where, details_.path, message_, details_.hint);
  if (details_.plugin.empty()) return;
  text_ += " [plugin " + details_.plugin;
  if (!details_.key.empty()) text_ += ", " + details_.key;
  text_ += "]";
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : Error(joined(diagnostics)), diagnostics_(std::move(diagnostics)) {}
ConfigError::ConfigError(Diagnostic problem)
    : ConfigError(std::vector<Diagnostic>{std::move(problem)}) {}
ConfigError::ConfigError(const ConfigError&) = default;
ConfigError::~ConfigError() = default;
int ConfigError::exit_code() const noexcept {
  return 2;
}

PluginError::PluginError(const PluginError&) = default;
PluginError::~PluginError() = default;
int PluginError::exit_code() const noexcept {
  return 3;
}

UsageError::UsageError(const UsageError&) = default;
UsageError::~UsageError() = default;
int UsageError::exit_code() const noexcept {
  return 2;
}

RunError::RunError(const RunError&) = default;
RunError::~RunError() = default;

InputError::InputError(const InputError&) = default;
InputError::~InputError() = default;

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "cli/view/error_report.h"

#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "base/terminal.h"
#include "base/terminal_text.h"
#include "config/overrides/override.h"
#include "config/toml/source_file.h"

namespace trivet {
namespace {

// Only the part around the caret of a wider line is shown.
constexpr std::size_t kWidest = 120;

// Lines of config files; each file is read once.
class SourceLines {
 public:
  std::optional<std::string> line(const Origin& where) {
    if (where.file == kCommandLine) return where.note;
    if (where.file.empty() || where.line <= 0) return std::nullopt;
    const auto [entry, is_new] = texts_.try_emplace(where.file);
    if (is_new) entry->second = text_of(where.file);
    return nth_line(entry->second, where.line);
  }

 private:
  // If a file is no longer readable, its errors are reported without the line.
  static std::string text_of(const std::string& file) {
    try {
      std::string text = read_config_text(file);
      if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
      return text;
    } catch (const ConfigError&) {
      return {};
    }
  }

  static std::optional<std::string> nth_line(std::string_view text, int number) {
    for (int i = 1; i < number; ++i) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) return std::nullopt;
      text.remove_prefix(end + 1);
    }
    if (text.empty()) return std::nullopt;
    return std::string(text.substr(0, text.find('\n')));
  }

  std::map<std::string, std::string> texts_;
};

// Ignores blanks at the end of a line.
std::vector<std::string> characters_of_line(std::string_view line) {
  std::vector<std::string> characters = characters_of(line);
  while (!characters.empty() && characters.back() == " ") characters.pop_back();
  return characters;
}

bool is_word(const std::string& character) {
  if (character.size() > 1) return true;
  const char c = character[0];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/' || c == '+';
}

// Marks one part of a dotted key, but all of a number or a "plugin/Name".
std::size_t word_length(const std::vector<std::string>& characters, std::size_t at) {
  std::size_t end = at;
  if (end < characters.size() && (characters[end] == "\"" || characters[end] == "'")) {
    const std::string& quote = characters[end++];
    while (end < characters.size() && characters[end] != quote) ++end;
    return std::min(end + 1, characters.size()) - at;
  }
  const bool number =
      end < characters.size() && characters[end][0] >= '0' && characters[end][0] <= '9';
  while (end < characters.size() && is_word(characters[end]) &&
         (number || characters[end] != ".")) {
    ++end;
  }
  return std::max<std::size_t>(1, end - at);
}

// Each position after the last character counts as one column.
int columns_between(const std::vector<std::string>& characters, std::size_t begin,
                    std::size_t end) {
  int columns = 0;
  for (std::size_t i = begin; i < end; ++i) {
    columns += i < characters.size() ? columns_of_character(characters[i]) : 1;
  }
  return columns;
}

std::string quoted_line(const std::string& line, const Origin& where, const std::string& hint,
                        bool colors) {
  const std::vector<std::string> characters = characters_of_line(line);
  const std::size_t caret = where.column > 0 ? static_cast<std::size_t>(where.column) - 1 : 0;
  const std::size_t begin =
      characters.size() > kWidest && caret > kWidest / 2 ? caret - kWidest / 2 : 0;
  const std::size_t end = std::min(characters.size(), begin + kWidest);
  std::string shown = begin > 0 ? "..." : "";
  const int indent = static_cast<int>(shown.size()) + columns_between(characters, begin, caret);
  for (std::size_t i = begin; i < end; ++i) shown += characters[i];
  if (end < characters.size()) shown += "...";
  const std::string number =
      where.file == kCommandLine ? std::string() : std::to_string(where.line);
  const std::size_t width = std::max<std::size_t>(4, number.size());
  std::string text = fmt::format(" {:>{}} | {}\n", number, width, shown);
  const std::size_t word = std::min(word_length(characters, caret), kWidest);
  const std::string marks(columns_between(characters, caret, caret + word), '^');
  text +=
      fmt::format(" {:>{}} | {:>{}}{}", "", width, "", indent, colored(marks, Color::red, colors));
  if (!hint.empty()) text += " " + printable(hint);
  return text + "\n";
}

std::string problem_text(const Diagnostic& problem, SourceLines& lines, bool colors) {
  const std::optional<std::string> line = lines.line(problem.where);
  Diagnostic head = problem;
  head.hint.clear();
  if (head.where.file == kCommandLine) head.where.note.clear();
  std::string text =
      fmt::format("{} {}\n", colored("error:", Color::red, colors), printable(to_string(head)));
  if (line) return text + quoted_line(*line, problem.where, problem.hint, colors);
  if (!problem.hint.empty()) text += fmt::format("       {}\n", printable(problem.hint));
  return text;
}

std::string limit_text(int resource, fmt::format_string<rlim_t> what, int shift) {
  rlimit limit = {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format(what, limit.rlim_cur >> shift);
}

// The resource that the system refused, with the limit that may be the cause.
std::string plain_text(const std::exception& error) {
  const std::string space = limit_text(RLIMIT_AS, "; the process may have {} MiB (ulimit -v)", 20);
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory" + space;
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system == nullptr || system->code() != std::errc::resource_unavailable_try_again) {
    return printable(error.what());
  }
  return "cannot start a thread: " + system->code().message() + space +
         limit_text(RLIMIT_NPROC, "; the user may have {} processes and threads (ulimit -u)", 0) +
         "; raise the limit, or set fewer runtime.threads";
}

}  // namespace

std::string report_text(const ConfigError& error, bool colors) {
  SourceLines lines;
  std::string text;
  std::size_t shown = 0;
  for (const Diagnostic& problem : error.diagnostics()) {
    if (shown++ == kMostProblems) break;
    text += problem_text(problem, lines, colors);
  }
  const std::size_t count = error.diagnostics().size();
  if (count > kMostProblems) text += fmt::format("error: ... and {} more\n", count - kMostProblems);
  if (count > 1) text += fmt::format("{} problems in the config\n", count);
  return text;
}

std::string report_text(const std::exception& error, bool colors) {
  if (const auto* config = dynamic_cast<const ConfigError*>(&error)) {
    return report_text(*config, colors);
  }
  return fmt::format("{} {}\n", colored("error:", Color::red, colors), plain_text(error));
}

int exit_code_of(const std::exception& error) noexcept {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known != nullptr ? known->exit_code() : 1;
}

}  // namespace trivet

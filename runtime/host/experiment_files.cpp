// SPDX-License-Identifier: Apache-2.0
#include "host/experiment_files.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

#include "host/path_safety.h"
#include "trivet/plugin/detail/plugin_note.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

// A folder with more files is not a folder of configs.
constexpr std::size_t kMostExperimentFiles = 10000;
constexpr std::size_t kLongestHeadLine = 1000;

void add_files(const PluginFile& plugin, std::vector<ExperimentFile>& found) {
  const fs::path folder = plugin.path.parent_path() / plugin.manifest->name / "configs";
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".toml" && paths.size() < kMostExperimentFiles) {
      paths.push_back(at->path());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    const std::string name = path.stem().string();
    ExperimentFile file{plugin.manifest->name + "/" + name, path, {}};
    file.error = detail::is_item_name(name) ? open_checked(path).error
                                            : "its name may only have letters, digits, '_' and '-'";
    found.push_back(std::move(file));
  }
}

std::string without_mark(std::string line) {
  line.erase(0, line.find_first_not_of("# \t"));
  return line;
}

// Lines for programs: a license, or the schema for editors.
bool is_directive(const std::string& line) {
  return line.starts_with("#:") || line.find("SPDX-License-Identifier") != std::string::npos;
}

// The first sentence, with its period; empty if none ends. Periods in parentheses end none.
std::string first_sentence(std::string_view text) {
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++open;
    if (text[i] == ')') --open;
    const bool ends = i + 1 == text.size() || text[i + 1] == ' ';
    if (text[i] == '.' && open <= 0 && ends) return std::string(text.substr(0, i + 1));
  }
  return {};
}

}  // namespace

std::vector<ExperimentFile> experiment_files(const PluginHost& host) {
  std::vector<ExperimentFile> found;
  for (const PluginFile& plugin : host.files()) {
    const bool usable =
        plugin.state == PluginState::available || plugin.state == PluginState::loaded;
    if (usable) add_files(plugin, found);
  }
  return found;
}

std::string experiment_doc(const fs::path& file) {
  std::ifstream stream(file);
  std::string text;
  for (std::string line; std::getline(stream, line) && line.starts_with('#');) {
    if (is_directive(line)) continue;
    if (line.size() > kLongestHeadLine) break;
    const std::string words = without_mark(line);
    if (words.empty() && !text.empty()) break;
    text += (text.empty() ? "" : " ") + words;
    if (std::string sentence = first_sentence(text); !sentence.empty()) return sentence;
  }
  return text;
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// Runs `trivet launch` with a fixed root, author and orchestrator (the plugin paper).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"
#include "support/plugin_folder.h"

namespace trivet::test {

struct Launching {
  Launching();

  std::filesystem::path write(std::string_view name, const std::string& text) const {
    return folder.write(name, text);
  }
  // "--xp=FILE" for a file with this content.
  std::string xp(const std::string& text) const;

  // With `prefix` in front of the program's name.
  ShellResult launch(const std::string& words, const std::string& prefix = {}) const;
  // The plan; creates nothing.
  nlohmann::ordered_json plan(const std::string& words) const;
  // The output of a rejected launch: exit code 2, nothing created.
  std::string refusal(const std::string& words) const;
  std::string root() const { return (folder / "root").string(); }
  // The config for the runs.
  std::string plugin_option() const { return "--plugin-dir=" + plugins.path().string(); }

  TempDir folder;
  PluginFolder plugins;
};

// A job's argv in a plan.
std::vector<std::string> words(const nlohmann::ordered_json& argv);

}  // namespace trivet::test

// SPDX-License-Identifier: Apache-2.0
// Shipped configs with one mistake each, made by rules and a fixed seed: always exit code 2 and the
// location of it, never a crash, never a directory.
#include <filesystem>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"

namespace mutated_configs_test {

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const fs::path& file) {
  std::istringstream in(read_file(file));
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool is_pair(const std::string& line) {
  return !line.starts_with('#') && line.find(" = ") != std::string::npos;
}
bool is_header(const std::string& line) {
  return line.starts_with('[');
}
// `key = value # comment` without the comment.
std::string with_value(const std::string& line, const std::string& value) {
  return line.substr(0, line.find(" = ") + 3) + value;
}
bool has_text(const std::string& line) {
  return is_pair(line) && line.find(" = \"") != std::string::npos;
}
bool is_count(const std::string& line) {
  static const std::regex kCount(
      "(batch_size|examples|train_steps|steps_per_loop|validation_interval|checkpoint_interval|"
      "hidden_dims|num_classes) = \\d.*");
  return std::regex_match(line, kCount);
}

// A mistake: the lines to which it applies, and the change.
struct Mistake {
  const char* name;
  bool (*applies)(const std::string& line);
  std::string (*make)(const std::string& line);
};

const Mistake kMistakes[] = {
    {"a key with a letter too many", is_pair, [](const std::string& line) { return "q" + line; }},
    {"a table where a value is wanted", is_pair,
     [](const std::string& line) { return with_value(line, "{zzz = 1}"); }},
    {"a date", is_pair, [](const std::string& line) { return with_value(line, "2024-01-01"); }},
    {"no value", is_pair, [](const std::string& line) { return with_value(line, ""); }},
    {"no equals sign", is_pair,
     [](const std::string& line) { return std::string(line).replace(line.find(" = "), 3, " "); }},
    {"a key twice", is_pair, [](const std::string& line) { return line + "\n" + line; }},
    {"a reference to nothing", is_pair,
     [](const std::string& line) { return with_value(line, "\"${no.such.location}\""); }},
    {"an endless list", is_pair,
     [](const std::string& line) { return with_value(line, "[1, [2, 3"); }},
    {"a byte that is no UTF-8", [](const std::string&) { return true; },
     [](const std::string& line) { return line + "#\xff"; }},
    {"a control character", [](const std::string&) { return true; },
     [](const std::string& line) { return line + "#\x01"; }},
    {"an unknown table", is_header, [](const std::string& line) { return "[q" + line.substr(1); }},
    {"a table twice", is_header,
     [](const std::string& line) { return line + "\n[task]\n[task]\n"; }},
    {"a bracket too few", is_header,
     [](const std::string& line) { return line.substr(0, line.size() - 1); }},
    {"a quote too few", has_text,
     [](const std::string& line) { return line.substr(0, line.rfind('"')); }},
    {"an integer for a text", has_text,
     [](const std::string& line) { return with_value(line, "[true]"); }},
    {"a negative count", is_count, [](const std::string& line) { return with_value(line, "-7"); }},
    {"a count above all integers", is_count,
     [](const std::string& line) { return with_value(line, "99999999999999999999"); }},
};

// A file of configs/, relative, and the config to run so that it is read.
struct Victim {
  std::string file, run;
};
const Victim kVictims[] = {
    {"vision/local.toml", "vision/local.toml"},
    {"vision/fashion_mnist_mlp.toml", "vision/fashion_mnist_mlp.toml"},
    {"vision/fashion_mnist_cnn.toml", "vision/fashion_mnist_cnn.toml"},
    {"vision/base/fashion_mnist.toml", "vision/fashion_mnist_mlp.toml"},
    {"tabular/weather.toml", "tabular/weather.toml"},
    {"tabular/temperature.toml", "tabular/temperature.toml"},
};

}  // namespace

TEST_CASE("two hundred wrong configs are rejected with the location and leave nothing behind",
          "[slow]") {
  const TempDir dir;
  const fs::path copy = dir / "configs";
  fs::copy(source_root() / "configs", copy, fs::copy_options::recursive);
  const fs::path workdir = dir / "run";
  const std::regex location("error: [^\n]*\\.toml:\\d+:\\d+: ");
  std::mt19937 random(20);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  for (int made = 0; made < 200;) {
    const Victim& victim = kVictims[below(std::size(kVictims))];
    Lines lines = lines_of(source_root() / "configs" / victim.file);
    const Mistake& mistake = kMistakes[below(std::size(kMistakes))];
    const std::size_t line = below(lines.size());
    if (!mistake.applies(lines[line])) continue;
    ++made;
    INFO(mistake.name << " in line " << line + 1 << " of " << victim.file << ": " << lines[line]);
    lines[line] = mistake.make(lines[line]);
    const fs::path file = dir.write("configs/" + victim.file, joined(lines));
    const ShellResult result = run(copy / victim.run, workdir);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK(std::regex_search(result.output, location));
    CHECK_FALSE(fs::exists(workdir));
    fs::copy_file(source_root() / "configs" / victim.file, file,
                  fs::copy_options::overwrite_existing);
  }
}

}  // namespace mutated_configs_test

// SPDX-License-Identifier: Apache-2.0
#include "config/modes.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

#include <fmt/core.h>

#include "trivet/config/enums.h"

namespace trivet {
namespace {

constexpr ModeTraits kModes[] = {
    {.mode = Mode::train, .trains = true, .doc = "Trains"},
    {.mode = Mode::eval,
     .trains = false,
     .evaluates = Evaluates::checkpoints,
     .program = EvalProgram::eval,
     .doc = "Evaluates the run's newest checkpoint, or that of --step N"},
    {.mode = Mode::train_and_eval,
     .trains = true,
     .evaluates = Evaluates::intervals,
     .doc = "Trains, and evaluates at validation_interval and at the end"},
    {.mode = Mode::train_and_post_eval,
     .trains = true,
     .evaluates = Evaluates::last,
     .doc = "Trains, and evaluates at the end alone"},
    {.mode = Mode::continuous_eval,
     .trains = false,
     .evaluates = Evaluates::checkpoints,
     .target = ModeTarget::followed,
     .directory = "continuous_eval",
     .doc = "Follows the run of another process in --workdir, evaluates its\n"
            "newest checkpoints and ends with it; what it finds goes to\n"
            "continuous_eval/ there"},
    {.mode = Mode::continuous_train_and_eval,
     .trains = true,
     .evaluates = Evaluates::intervals,
     .target = ModeTarget::restarts,
     .doc = "Follows the run that task.init_checkpoint names and trains from\n"
            "each of its checkpoints, in from_step_N/ of its own directory"},
    {.mode = Mode::decode,
     .trains = false,
     .evaluates = Evaluates::checkpoints,
     .program = EvalProgram::decode,
     .doc = "As eval, but the model writes texts for the data, which go to\n"
            "outputs_step_N.jsonl of the evaluation"},
    {.mode = Mode::infer,
     .trains = false,
     .evaluates = Evaluates::checkpoints,
     .program = EvalProgram::infer,
     .doc = "As eval, but without labels: predictions alone, likewise"},
};

constexpr bool is_complete() {
  if (std::size(kModes) != enum_names<Mode>().size()) return false;
  for (std::size_t i = 0; i < std::size(kModes); ++i) {
    if (static_cast<std::size_t>(kModes[i].mode) != i || kModes[i].doc.empty()) return false;
  }
  return true;
}
static_assert(is_complete(), "every mode has its row with a doc, in the order of Mode");

}  // namespace

const ModeTraits& traits_of(Mode mode) {
  return kModes[static_cast<std::size_t>(mode)];
}

bool is_evaluation_name(std::string_view name) {
  constexpr std::size_t kMost = 100;
  return !name.empty() && name.size() <= kMost && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                  c == '.';
         });
}

std::string modes_text() {
  std::size_t width = 0;
  for (const std::string_view name : enum_names<Mode>()) width = std::max(width, name.size());
  std::string text = "Modes:\n";
  for (const ModeTraits& mode : kModes) {
    std::string_view name = enum_name(mode.mode);
    std::string_view doc = mode.doc;
    while (!doc.empty()) {
      const std::string_view line = doc.substr(0, doc.find('\n'));
      text += fmt::format("  {:<{}}  {}\n", name, width, line);
      name = {};
      doc.remove_prefix(std::min(line.size() + 1, doc.size()));
    }
  }
  return text;
}

}  // namespace trivet

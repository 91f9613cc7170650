// SPDX-License-Identifier: Apache-2.0
// The shown config is the one that runs: over generated files, overrides in every order, sweeps and
// references. TRIVET_PROPERTY_CASES and TRIVET_PROPERTY_SEED set the number of cases and which.
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <sstream>
#include <unordered_map>

#include <catch2/catch.hpp>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include "config/overrides/override_effects.h"
#include "config/toml/toml_reader.h"
#include "config_fixture.h"
#include "launch/plan/unit_config.h"

namespace trivet::test::config_property {
namespace {

constexpr int kCases = 10'000;

const char* const kFiles[] = {
    // References, [defaults] and tables with types.
    ("seed = 1\n[task]\ntype = 'demo/Task'\n[task.model]\ntype = 'demo/Mlp'\n"
     "hidden_dims = [64, 32]\nactivation = {type = 'demo/Linear', dims = 2, dropout = 0.5}\n"
     "dropout = '${task.model.activation.dropout}'\n[task.train_input]\ntype = 'demo/Noise'\n"
     "batch_size = 16\n[trainer]\ntrain_steps = 100\noptimizer = {momentum = 0.3, type = "
     "'demo/Sgd'}\nlearning_rate = {type = 'demo/Cosine', peak = 0.2, decay_steps = "
     "'${trainer.train_steps}'}\n[defaults.'demo/Linear']\ndims = 3\nhas_bias = true\n"
     "[xp]\nsteps = '${trainer.train_steps}'\ncount = 11\n"),
    // Short forms, a list of parts, a part by reference.
    ("[task]\ntype = 'demo/Task'\neval_input = '${task.train_input}'\n[task.model]\n"
     "type = 'demo/Stack'\nlayers = ['demo/Relu', {type = 'demo/Linear', dims = 1}]\n"
     "[task.train_input]\ntype = 'demo/Noise'\nbatch_size = 4\n[trainer]\ntrain_steps = 50\n"
     "optimizer = 'demo/Sgd'\nlearning_rate = 0.5\nvalidation_steps = '${xp.often}'\n"
     "[xp]\noften = 3\ncount = '${trainer.train_steps}'\n[defaults.'demo/Sgd']\nmomentum = 0.7\n"),
    // Almost empty.
    ("name = 'say $${seed}'\n[task]\ntype = 'demo/Task'\nmodel = 'demo/Mlp'\ntrain_input = "
     "{type = 'demo/Noise', batch_size = 2}\n[trainer]\ntrain_steps = 10\n"),
};

struct Said {
  std::string path;
  std::string value;  // TOML
};

const std::vector<Said> kPool{
    {"seed", "3"},
    {"seed", "4"},
    {"name", "'x'"},
    {"name", "'null'"},
    {"name", "'run ${seed}'"},
    {"trainer.train_steps", "7"},
    {"trainer.train_steps", "9"},
    {"trainer.optimizer", "'demo/Sgd'"},
    {"trainer.optimizer.momentum", "0.1"},
    {"trainer.optimizer", "{momentum = 0.2}"},
    {"trainer.learning_rate", "0.5"},
    {"trainer.learning_rate", "0.05"},
    {"trainer.learning_rate", "'demo/Constant'"},
    {"trainer.learning_rate", "{type = 'demo/Cosine', decay_steps = 5}"},
    {"trainer.learning_rate.type", "'demo/Cosine'"},
    {"trainer.learning_rate.value", "0.25"},
    {"trainer.learning_rate.peak", "0.7"},
    {"trainer.learning_rate.decay_steps", "12"},
    {"trainer.learning_rate.decay_steps", "'${trainer.train_steps}'"},
    {"task.model", "'demo/Stack'"},
    {"task.model", ("{type = 'demo/Stack', layers = [{type = 'demo/Linear', dims = 2}, "
                    "'demo/Relu']}")},
    {"task.model", "{dropout = 0.125}"},
    {"task.model.type", "'demo/Mlp'"},
    {"task.model.dropout", "0.5"},
    {"task.model.dropout", "'${task.model.activation.slope}'"},
    {"task.model.activation", "'demo/Linear'"},
    {"task.model.activation", "'demo/Relu'"},
    {"task.model.activation", "'none'"},
    {"task.model.activation.dims", "4"},
    {"task.model.activation.slope", "0.1"},
    {"task.model.nonlinearity.slope", "0.2"},
    {"task.model.hidden_dims", "[7]"},
    {"task.model.hidden_dims", "[1, 2]"},
    {"task.model.hidden_dims[0]", "9"},
    {"task.model.layers[0].dims", "6"},
    {"task.model.layers[1].slope", "0.6"},
    {"task.model.parts", "{label = 't'}"},
    {"task.model.parts.label", "'u'"},
    {"task.model.parts.sizes", "[4]"},
    {"task.model.limit", "4"},
    {"task.model.notes", "'5'"},
    {"task.model.notes", "true"},
    {"task.train_input.batch_size", "8"},
    {"task.eval_input", "'${task.train_input}'"},
    {"seed", "'${xp.count}'"},
    {"xp.count", "5"},
    {"**.dropout", "0.4"},
    {"**.slope", "0.3"},
    {"**.activation", "'demo/Relu'"},
    {"task.*.seed", "6"},
};

const std::vector<std::string> kRemovals{"~task.model.hidden_dims[0]", "~task.model.hidden_dims[1]",
                                         "~task.model.dropout", "~trainer.optimizer"};

std::string word_of(const Said& said) {
  return said.path + "=" + override_value_text(read_toml_value(said.value));
}

struct Case {
  std::size_t file = 0;
  std::vector<Said> said, swept;
  std::vector<std::string> removals;
  unsigned order = 0;
};

Case any_case() {
  Case one;
  one.file = *rc::gen::elementOf(std::vector<std::size_t>{0, 1, 2});
  const auto some = [](int most) {
    std::vector<Said> chosen;
    const int count = *rc::gen::elementOf(std::vector<int>{0, 1, 2, most});
    for (int i = 0; i < count; ++i) {
      const Said next = *rc::gen::elementOf(kPool);
      const bool taken = std::any_of(chosen.begin(), chosen.end(),
                                     [&](const Said& said) { return said.path == next.path; });
      if (!taken) chosen.push_back(next);
    }
    return chosen;
  };
  one.said = some(5);
  if (!one.said.empty() && *rc::gen::elementOf(std::vector<int>{0, 0, 0, 1}) == 1) {
    one.said.push_back(*rc::gen::elementOf(kPool));
  }
  one.swept = some(3);
  // A value that is both swept and set is rejected before any unit is built.
  std::erase_if(one.swept, [&](const Said& swept) {
    return std::any_of(one.said.begin(), one.said.end(),
                       [&](const Said& said) { return said.path == swept.path; });
  });
  if (*rc::gen::elementOf(std::vector<int>{0, 0, 0, 0, 1}) == 1) {
    one.removals.push_back(*rc::gen::elementOf(kRemovals));
  }
  one.order = static_cast<unsigned>(*rc::gen::inRange(0, 1 << 20));
  return one;
}

// Runs a case: compares `config show` with a unit of the launch.
class Trial {
 public:
  explicit Trial(const Case& one) : case_(one) {}

  void check() {
    const std::optional<ResolvedConfig> shown = resolved(words(true));
    std::vector<std::string> shuffled = words(true);
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(case_.order));
    const std::optional<ResolvedConfig> other = resolved(shuffled);
    RC_ASSERT(shown.has_value() == other.has_value());
    if (!shown) return;
    RC_ASSERT(shown->tree == other->tree);
    check_effects(*shown);
    check_round_trip(*shown);
    check_unit(*shown);
  }

 private:
  std::vector<std::string> words(bool with_swept) const {
    std::vector<std::string> all = case_.removals;
    for (const Said& said : case_.said) all.push_back(word_of(said));
    if (!with_swept) return all;
    for (const Said& said : case_.swept) all.push_back(word_of(said));
    return all;
  }

  static std::filesystem::path file(std::size_t number) {
    static const std::vector<std::filesystem::path> kPaths = [] {
      std::vector<std::filesystem::path> paths;
      for (const char* text : kFiles) {
        paths.push_back(folder().write("file" + std::to_string(paths.size()) + ".toml", text));
      }
      return paths;
    }();
    return kPaths.at(number);
  }
  static const TempDir& folder() {
    static const TempDir kFolder;
    return kFolder;
  }
  static DemoCatalog& catalog() {
    static DemoCatalog demo;
    return demo;
  }

  static ConfigRequest request(const std::filesystem::path& path,
                               const std::vector<std::string>& words) {
    ConfigRequest made{.files = {path}};
    for (const std::string& word : words) made.overrides.push_back(make_override(word));
    return made;
  }

  static std::optional<ResolvedConfig> resolved(const ConfigRequest& request) {
    try {
      return resolve_config(request, catalog());
    } catch (const ConfigError& error) {
      RC_LOG() << error.what() << "\n";
      return std::nullopt;
    }
  }
  std::optional<ResolvedConfig> resolved(const std::vector<std::string>& words) const {
    return resolved(request(file(case_.file), words));
  }

  // A plain value without inner overrides is present.
  void check_effects(const ResolvedConfig& shown) const {
    const TypedTree tree(config_file_schema(), catalog().schemas());
    const std::vector<std::string> all = words(true);
    const bool plain = std::all_of(all.begin(), all.end(), [](const std::string& word) {
      return word.find('*') == std::string::npos && word[0] != '~';
    });
    if (!plain) return;
    for (const auto* list : {&case_.said, &case_.swept}) {
      for (const Said& said : *list) {
        const bool inner = std::any_of(all.begin(), all.end(), [&](const std::string& word) {
          return word.starts_with(said.path + ".") || word.starts_with(said.path + "[");
        });
        if (inner || said.value.find("${") != std::string::npos) continue;
        if (said.path.find("nonlinearity") != std::string::npos) continue;
        if (said.path.ends_with(".type")) continue;
        RC_LOG() << said.path << "\n";
        RC_ASSERT(says(shown.tree, tree, said.path, read_toml_value(said.value)));
      }
    }
  }

  // A run's config.toml gives the same config, and follows changes like the files.
  void check_round_trip(const ResolvedConfig& shown) const {
    const auto path = folder().write("run.toml", run_config_text(shown));
    const std::optional<ResolvedConfig> again = resolved(request(path, {}));
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->tree == shown.tree);
    RC_ASSERT(read_run_config(path) == plain_config(shown));
    std::vector<std::string> all = words(true);
    if (std::any_of(all.begin(), all.end(), [](const std::string& word) {
          return word.starts_with("trainer.train_steps");
        })) {
      return;
    }
    all.emplace_back("trainer.train_steps=77");
    const std::optional<ResolvedConfig> longer = resolved(all);
    const std::optional<ResolvedConfig> gone_on = resolved(request(path, {all.back()}));
    RC_ASSERT(longer.has_value() && gone_on.has_value());
    RC_ASSERT(longer->tree == gone_on->tree);
  }

  // The unit of this item has the config that the same words show, or the launch rejects it.
  void check_unit(const ResolvedConfig& shown) const {
    launch::SweepItem item;
    std::vector<std::string> sweeps;
    for (const Said& said : case_.swept) {
      item.args.emplace_back(said.path, read_toml_value(said.value));
      sweeps.push_back(said.path + "=" + said.value);
    }
    const ConfigRequest whole = request(file(case_.file), words(false));
    std::optional<ResolvedConfig> base = resolved(without_swept(whole, sweeps));
    if (!base) return;
    ResolvedLaunch launch;
    launch.run = std::move(base);
    const UnitConfig config = unit_config(launch, whole.overrides,
                                          item.args.empty() ? Units::alike : Units::varied, {item});
    const auto path =
        folder().write("unit.toml", config.words.empty() ? config.text : config.files_text);
    std::vector<std::string> given = config.words;
    for (const Override& one : item_overrides(item, 1)) given.push_back(one.text);
    const std::optional<ResolvedConfig> unit = resolved(request(path, given));
    RC_ASSERT(unit.has_value());
    Value ours = unit->tree, theirs = shown.tree;
    ours.erase("xp");
    theirs.erase("xp");
    RC_LOG() << to_toml(ours) << "\n" << to_toml(theirs) << "\n";
    RC_ASSERT(ours == theirs);
  }

  const Case& case_;
};

int number_in(const char* variable, int otherwise) {
  const char* wanted = std::getenv(variable);
  return wanted != nullptr ? std::atoi(wanted) : otherwise;
}

}  // namespace

TEST_CASE("a unit runs the config that config show prints for the same words, in any order") {
  rc::detail::TestParams params;
  params.seed = static_cast<std::uint64_t>(number_in("TRIVET_PROPERTY_SEED", 20));
  params.maxSuccess = number_in("TRIVET_PROPERTY_CASES", kCases);
  rc::detail::TestListenerAdapter silent;
  const auto result = rc::detail::checkTestable(
      [] {
        const Case one = any_case();
        RC_LOG() << "file " << one.file << "\n";
        for (const std::string& word : one.removals) RC_LOG() << word << "\n";
        for (const Said& said : one.said) RC_LOG() << word_of(said) << "\n";
        for (const Said& said : one.swept) RC_LOG() << "swept " << word_of(said) << "\n";
        Trial(one).check();
      },
      rc::detail::TestMetadata{}, params, silent,
      std::unordered_map<std::string, rc::detail::Reproduce>{});
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  INFO(message.str());
  CHECK(result.template is<rc::detail::SuccessResult>());
}

}  // namespace trivet::test::config_property

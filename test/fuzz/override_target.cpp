// SPDX-License-Identifier: Apache-2.0
// Text of a command line: each line as an override of a valid config, then the whole text as
// --params_override.
#include <string>
#include <utility>

#include "config/overrides/override.h"
#include "config/overrides/params_override.h"
#include "fuzz_target.h"
#include "resolve_again.h"
#include "runtime/config/config_fixture.h"
#include "support/shell.h"
#include "trivet/error.h"

namespace trivet::test {
namespace {

std::vector<Override> overrides_of(const std::string& text) {
  std::vector<Override> overrides;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    overrides.push_back(make_override(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return overrides;
}

// Ignores files that the text names: the fuzzer did not make them.
std::vector<Override> params_of(const std::string& text) {
  try {
    return parse_params_override(text).overrides;
  } catch (const ConfigError& refused) {
    promise(!refused.diagnostics().empty() && !refused.diagnostics()[0].what.empty(),
            "--params_override is refused without a reason");
    return {};
  }
}

}  // namespace

bool accepts_overrides(std::string_view bytes) {
  static const TempDir folder;
  static const std::filesystem::path good = folder.write("main.toml", kGoodConfig);
  static DemoCatalog catalog;
  const std::string text(bytes);
  const std::filesystem::path again = folder / "again.toml";
  const bool plain = resolves({.files = {good}, .overrides = overrides_of(text)}, catalog, again);
  std::vector<Override> params = params_of(text);
  if (params.empty()) return plain;
  return resolves({.files = {good}, .overrides = std::move(params)}, catalog, again) || plain;
}

std::vector<std::string> override_seeds() {
  return {
      "trainer.train_steps=500",
      "task.model=demo/Stack\ntask.model.layers=[{type='demo/Linear', dims=3}, 'demo/Relu']\n"
      "task.model.layers[0].dims=8",
      "trainer.optimizer={type = \"demo/Sgd\", momentum = 0.5}",
      "**.dropout=0.1",
      "task.*_input.batch_size=8",
      "+xp.note=x y",
      "~trainer.learning_rate",
      "+task.model.weights.ab=inf\ntask.model.patience=1h30m\ntask.model.shape=square",
      "seed=5, name='x, y',task.model.hidden_dims = [1,2],  trainer.train_steps =7",
      "{\"task\": {\"model\": {\"hidden_dims\": [3, 4], \"limit\": null}}, \"name\": \"a\\n\"}",
      "task.model.activation.slope=-1.e-3,task.model.parts.label=True",
  };
}

}  // namespace trivet::test

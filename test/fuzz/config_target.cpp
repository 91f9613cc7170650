// SPDX-License-Identifier: Apache-2.0
// An untrusted config file: refused with all its errors, or resolved to a tree whose written form
// resolves to the same tree.
#include <filesystem>
#include <fstream>

#include "config/resolver.h"
#include "fuzz_target.h"
#include "resolve_again.h"
#include "runtime/config/config_fixture.h"
#include "support/shell.h"

namespace trivet::test {

bool accepts_config(std::string_view bytes) {
  static const TempDir folder;
  static const bool has_base = !folder.write("base.toml", kGoodConfig).empty();
  static DemoCatalog catalog;
  const ConfigRequest request{.files = {folder.write("main.toml", bytes)}};
  return has_base && resolves(request, catalog, folder / "again.toml");
}

std::vector<std::string> config_seeds() {
  const std::string good = kGoodConfig;
  return {
      good,
      "base = ['base.toml']\nseed = 2\nname = 'x ${seed}'\n[xp]\nnote = \"$${x} ${seed}\"\n"
      "[sweep.lr]\nx = [1]\n[defaults.\"demo/Relu\"]\nslope = 0.25\n"
      "[backend.\"cpu/Highway\"]\nthreads = 3\n",
      "experiment = 'demo/small'\nmode = 'eval'\n[trainer]\ntype = 'demo/Trainer'\nrounds = 2\n"
      "learning_rate = {type = 'demo/Cosine', decay_steps = 10}\n",
      "[task]\ntype = 'demo/Task'\nmodel.type = 'demo/Stack'\n[[task.model.layers]]\n"
      "type = 'demo/Linear'\ndims = 3\nactivation = 'demo/Relu'\n[[task.model.layers]]\n"
      "type = 'demo/Residual'\nbody = {type = 'demo/Linear', dims = 0x1F}\n",
      good +
          "[task.eval_input]\ntype = 'demo/Noise'\nbatch_size = '${task.train_input.batch_size}'\n"
          "[runtime]\nthreads = 1_0\n",
      "[task]\ntype = 'demo/Task'\n[task.model]\ntype = 'demo/Mlp'\nnonlinearity = 'demo/Relu'\n"
      "shape = 'square'\npatience = '1h30m'\nvocabulary = 'words.txt'\nlimit = 7\n"
      "weights = {a = 1e3, \"b c\" = inf}\nparts = {label = '''x'''}\nnotes = [{}, [1.5, true]]\n",
  };
}

}  // namespace trivet::test

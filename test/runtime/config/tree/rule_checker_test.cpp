// SPDX-License-Identifier: Apache-2.0
// The rules of config structs (their `validate`) as a part of resolving a config.
#include <catch2/catch.hpp>

#include "runtime/config/config_fixture.h"
#include "trivet/error.h"

using trivet::test::Configs;

namespace {

// A config with these layers in its model, from line 3 on.
std::string with_layers(const std::string& layers) {
  return "[task]\ntype = 'demo/Task'\nmodel = {type = 'demo/Stack', layers = [\n" + layers +
         "]}\n[trainer]\ntrain_steps = 1\noptimizer = 'demo/Sgd'\n";
}

}  // namespace

TEST_CASE("rules are checked at every depth, each with its location") {
  CHECK(Configs(with_layers("{type = 'demo/Linear', dims = 1, has_bias = false, dropout = 0.5},\n"
                            "{type = 'demo/Residual', body = {type = 'demo/Linear', dims = 1, "
                            "has_bias = false, dropout = 0.25}}"))
            .diagnostics() ==
        "main.toml:4:62: task.model.layers[0].dropout: needs a bias (set has_bias)\n"
        "main.toml:5:94: task.model.layers[1].body.dropout: needs a bias (set has_bias)\n");
  CHECK(Configs("[task]\ntype = 'demo/Task'\n[task.model]\ntype = 'demo/Mlp'\n"
                "parts.sizes = [1, 2, 3, 4, 5]\n")
            .diagnostics() == "main.toml:5:15: task.model.parts.sizes: are more than four\n");
}

TEST_CASE("a rule broken by [defaults] is reported once for all filled tables") {
  CHECK(Configs(with_layers("'demo/Linear', 'demo/Linear'") +
                "[defaults.\"demo/Linear\"]\ndims = 1\nhas_bias = false\ndropout = 0.5\n")
            .diagnostics() ==
        "main.toml:11:11: task.model.layers[0].dropout: needs a bias (set has_bias)\n");
}

TEST_CASE("a rule that an override breaks is shown on the command line") {
  Configs configs(with_layers("{type = 'demo/Linear', dims = 1, dropout = 0.5}"));
  CHECK(configs.diagnostics() == "no problem");
  CHECK(configs.diagnostics({"task.model.layers[0].has_bias=false"}) ==
        "main.toml:4:44: task.model.layers[0].dropout: needs a bias (set has_bias)\n");
}

TEST_CASE("an unusable plugin is a separate error if the rest is valid") {
  Configs configs(with_layers("'demo/Refused'"));
  CHECK_THROWS_AS(configs.resolve(), trivet::PluginError);
  CHECK(configs.diagnostics({"seed=x"}) ==
        "command line:1:6 (seed=x): seed: 'x' is not an integer (write an integer)\n");
}

TEST_CASE("a zero byte in a string is rejected with its location") {
  Configs configs(std::string(trivet::test::kGoodConfig) + "[xp]\nargs = {x = \"a\\u0000b\"}\n");
  CHECK_THAT(configs.diagnostics(),
             Catch::StartsWith("main.toml:15:13: xp.args.x: this string contains a zero byte"));
}

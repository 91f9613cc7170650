// SPDX-License-Identifier: Apache-2.0
// The plugin "acme", which trivet/plugin.h shows: a whole plugin in one file. Tests build it in the
// tree, and as an outsider does, with the installed headers and the flags of pkg-config.
// [plugin]
#include <trivet/layer.h>
#include <trivet/ops.h>
#include <trivet/plugin.h>

namespace acme {

struct ScaleConfig : trivet::LayerConfig {
  double factor = 1.0;
};
TRIVET_CONFIG(ScaleConfig, trivet::LayerConfig, (factor, "Factor of the input."))

class Scale final : public trivet::Layer {
 public:
  using Config = ScaleConfig;

  Scale(const Config& config, trivet::Scope&) : factor_(static_cast<float>(config.factor)) {}

  trivet::Tensor fprop(const trivet::Tensor& x, trivet::FpropContext&) override {
    return trivet::ops::mul(x, factor_);
  }

 private:
  float factor_;
};

}  // namespace acme

TRIVET_PLUGIN(({.name = "acme", .version = "1.0.0", .license = "MIT", .doc = "Odds, ends."}),
              trivet::layer<acme::Scale>("Scale", "Multiplies by a constant."))
// [/plugin]

// SPDX-License-Identifier: Apache-2.0
#include "layer/guarded_layer.h"

#include <string>
#include <utility>

#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"

namespace trivet::detail {
namespace {

class GuardedLayer final : public Layer {
 public:
  GuardedLayer(std::unique_ptr<Layer> layer, const RegistryItem* item, std::string path)
      : layer_(std::move(layer)), item_(item), path_(std::move(path)) {}

  Tensor fprop(const Tensor& x, FpropContext& context) override {
    return in_plugin(item_, "fprop", path_, [&] {
      Tensor y = layer_->fprop(x, context);
      if (!y.defined()) throw PluginError("its fprop returned no tensor");
      return y;
    });
  }

  const void* extension(std::string_view id) const noexcept override {
    return layer_->extension(id);
  }

 private:
  std::unique_ptr<Layer> layer_;
  const RegistryItem* item_;
  std::string path_;
};

}  // namespace

std::unique_ptr<Layer> make_guarded(const ConfigOf<Layer>& config, Scope& scope) {
  std::unique_ptr<Layer> layer = make(config, scope);
  const RegistryItem* item = item_of(*layer);
  std::string path = config.path().empty() ? scope.path() : config.path();
  return std::make_unique<GuardedLayer>(std::move(layer), item, std::move(path));
}

}  // namespace trivet::detail

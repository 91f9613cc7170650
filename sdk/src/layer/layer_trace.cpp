// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/layer_trace.h"

#include <string>
#include <utility>

#include "trivet/layer.h"
#include "trivet/layer/scope.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/profile.h"

namespace trivet {
namespace {

thread_local LayerTrace* current = nullptr;

std::string text_of(const Tensor& x) {
  return std::string(name_of(x.dtype())) + " " + x.shape().to_string();
}

// Says whose code runs, should the layer crash or throw, and passes no missing tensor to the next
// layer.
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

std::unique_ptr<Layer> make_guarded(const ConfigOf<Layer>& config, Scope& scope) {
  std::unique_ptr<Layer> layer = make(config, scope);
  const RegistryItem* item = item_of(*layer);
  std::string path = config.path().empty() ? scope.path() : config.path();
  return std::make_unique<GuardedLayer>(std::move(layer), item, std::move(path));
}

}  // namespace

struct LayerTrace::State {
  std::vector<Entry> entries;
};

// Counts what passes through a layer. Holds the entries, so that it outlives the trace.
class LayerTrace::Wrapped final : public Layer {
 public:
  Wrapped(std::unique_ptr<Layer> layer, Device& device, std::shared_ptr<State> state,
          std::size_t index)
      : layer_(std::move(layer)),
        device_(device),
        state_(std::move(state)),
        index_(index),
        scope_(detail::profile_scope_of(state_->entries[index].path)) {}

  Tensor fprop(const Tensor& x, FpropContext& context) override {
    const detail::ScopedProfile scope({.index = scope_});
    const double before = device_.flops();
    Tensor y = layer_->fprop(x, context);
    Entry& entry = state_->entries[index_];
    ++entry.calls;
    entry.flops += device_.flops() - before;
    entry.input = text_of(x);
    entry.output = text_of(y);
    return y;
  }

  const void* extension(std::string_view id) const noexcept override {
    return layer_->extension(id);
  }

 private:
  std::unique_ptr<Layer> layer_;
  Device& device_;
  std::shared_ptr<State> state_;
  std::size_t index_;
  std::uint32_t scope_;
};

LayerTrace::LayerTrace()
    : state_(std::make_shared<State>()), previous_(std::exchange(current, this)) {}

LayerTrace::~LayerTrace() {
  current = previous_;
}

const std::vector<LayerTrace::Entry>& LayerTrace::layers() const {
  return state_->entries;
}

void LayerTrace::reset_calls() {
  for (Entry& entry : state_->entries) {
    entry.calls = 0;
    entry.flops = 0;
  }
}

std::shared_ptr<Layer> LayerTrace::make_layer(const ConfigOf<Layer>& config, Scope& scope) {
  if (current == nullptr) return make_guarded(config, scope);
  const std::shared_ptr<State> state = current->state_;
  const std::size_t index = state->entries.size();
  state->entries.push_back({scope.path(), config});
  std::unique_ptr<Layer> layer = make_guarded(config, scope);
  return std::make_shared<Wrapped>(std::move(layer), scope.device(), state, index);
}

}  // namespace trivet

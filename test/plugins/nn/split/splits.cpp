// SPDX-License-Identifier: Apache-2.0
#include "plugins/nn/split/splits.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <catch2/catch.hpp>

#include "support/thread_group.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/task.h"

namespace trivet::test {
namespace {

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return INFINITY;
  std::vector<float> difference;
  for (std::size_t i = 0; i < got.size(); ++i) difference.push_back(got[i] - want[i]);
  // Norms are about 10, but that of a bias of keys is 0 but for rounding.
  return norm_of(difference) / std::max(norm_of(want), 1.0);
}

}  // namespace

Computed compute(const SplitCase& layer, const std::string& backend, std::int64_t mdl,
                 ProcessGroup* group) {
  return compute(layer, backend, mesh_along_mdl(mdl), group);
}

Computed compute(const SplitCase& layer, const std::string& backend, const MeshConfig& mesh,
                 ProcessGroup* group) {
  LayerFixture fixture(backend, layer.config, mesh, group);
  std::uint64_t seed = 60;
  for (const auto& parameter : fixture.store().parameters()) {
    const std::string path = parameter->path().substr(std::string("layer/").size());
    if (path.ends_with("w") || !parameter->trainable()) continue;
    fixture.set(path, random_values(parameter->shape().size(), ++seed, 0.5));
  }
  FpropContext context;
  context.train = layer.train;
  context.key = RngKey(11);
  if (layer.prepare) layer.prepare(context, fixture.device());
  GradientSlot slot;
  const Tensor x =
      make_leaf(fixture.tensor(random_values(layer.input.size(), 3), layer.input), slot);
  fixture.store().begin_gradients();
  Tape tape;
  Tensor y, loss;
  {
    const Tape::Recording recording(tape);
    y = fixture.layer().fprop(x, context);
    loss = ops::sum(ops::mul(y, fixture.tensor(random_values(y.size(), 5), y.shape())));
    loss = add_aux_losses(loss, context);
  }
  tape.backward(loss);
  fixture.store().end_gradients();
  Computed computed{.y = y.to_host<float>(), .losses = {}, .gradients = {}};
  for (const auto& [name, each] : context.aux_losses) computed.losses[name] = each.to_host<float>();
  computed.gradients["x"] = slot.gradient.to_host<float>();
  for (const auto& parameter : fixture.store().parameters()) {
    if (!parameter->trainable()) continue;
    computed.gradients[parameter->path()] = parameter->gradient().to_host<float>();
  }
  return computed;
}

void check_equal(const Computed& split, const Computed& whole, double tolerance) {
  CHECK(relative_error(split.y, whole.y) < tolerance);
  const auto check = [&](const auto& tensors, const auto& of_whole) {
    REQUIRE(tensors.size() == of_whole.size());
    for (const auto& [path, values] : of_whole) {
      INFO(path);
      CHECK(relative_error(tensors.at(path), values) < tolerance);
    }
  };
  check(split.losses, whole.losses);
  check(split.gradients, whole.gradients);
}

void check_processes(std::int64_t mdl, const Computed& one,
                     const std::function<Computed(ProcessGroup&)>& compute) {
  check_processes(mesh_along_mdl(mdl), one, compute);
}

void check_processes(const MeshConfig& mesh, const Computed& one,
                     const std::function<Computed(ProcessGroup&)>& compute) {
  for (const std::int64_t processes : MeshLayout(mesh).process_counts()) {
    if (processes == 1) continue;
    std::vector<Computed> found(static_cast<std::size_t>(processes));
    on_ranks(static_cast<int>(processes), [&](ProcessGroup& group) {
      found[static_cast<std::size_t>(group.rank())] = compute(group);
    });
    for (const Computed& computed : found) {
      INFO("processes: " << processes);
      CHECK((bits_of(computed.y) == bits_of(one.y)));
      REQUIRE(computed.losses.size() == one.losses.size());
      for (const auto& [name, loss] : one.losses) {
        CHECK((bits_of(computed.losses.at(name)) == bits_of(loss)));
      }
      for (const auto& [path, gradient] : one.gradients) {
        INFO(path);
        CHECK((bits_of(computed.gradients.at(path)) == bits_of(gradient)));
      }
    }
  }
}

void check_split(const SplitCase& layer, const std::string& backend,
                 const std::vector<std::int64_t>& devices) {
  for (const std::int64_t mdl : devices) check_split(layer, backend, mesh_along_mdl(mdl));
}

void check_split(const SplitCase& layer, const std::string& backend, const MeshConfig& mesh) {
  INFO(layer.name << " on " << backend << ", devices: " << mesh.devices());
  const Computed one = compute(layer, backend, mesh);
  check_equal(one, compute(layer, backend, 1));
  check_processes(mesh, one,
                  [&](ProcessGroup& group) { return compute(layer, backend, mesh, &group); });
}

ConfigOf<Layer> with_field(const ConfigOf<Layer>& config, const char* field, Value value) {
  Value fields = config.fields();
  fields.set(field, std::move(value));
  return {std::string(config.key()), std::move(fields)};
}

}  // namespace trivet::test

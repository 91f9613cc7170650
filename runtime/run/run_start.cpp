// SPDX-License-Identifier: Apache-2.0
#include "run/run_start.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/modes.h"
#include "config/toml/toml_reader.h"
#include "run/run_session.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/meta_device.h"

namespace trivet {
namespace {

Origin origin_of(const Value& config, std::string_view path) {
  const Value* value = config.find_path(path);
  return value != nullptr ? value->origin() : Origin{};
}

// As text for the backend: 42, true, 0.5, strings without quotes.
std::vector<std::pair<std::string, std::string>> backend_options(const Value& table) {
  std::vector<std::pair<std::string, std::string>> options;
  if (!table.is_table()) return options;
  for (const Value::Member& member : table.members()) {
    if (member.value.is_null()) continue;
    options.emplace_back(
        member.key, member.value.is_string() ? member.value.as_string() : to_toml(member.value));
  }
  return options;
}

const tv_backend* backend_table(const ResolvedConfig& config) {
  return static_cast<const tv_backend*>(
      registry().table("backend", config.experiment.runtime.backend,
                       origin_of(config.tree, "runtime.backend"), "runtime.backend"));
}

// Processes of one machine divide its cores between them.
int threads_of(const RuntimeConfig& runtime, const World* world) {
  const auto wanted = static_cast<int>(runtime.threads);
  if (wanted > 0 || world == nullptr) return wanted;
  return std::max(1, ThreadPool::usable_cores() / world->local_size());
}

DeviceOptions device_options(const ResolvedConfig& config, const World* world = nullptr) {
  const RuntimeConfig& runtime = config.experiment.runtime;
  DeviceOptions options;
  options.key = runtime.backend;
  options.index = static_cast<int>(runtime.device);
  options.pool = std::make_shared<ThreadPool>(threads_of(runtime, world));
  return options;
}

}  // namespace

TrainerConfig trainer_fields(const ConfigOf<Trainer>& config) {
  Value common = Value::table();
  for (const Value::Member& member : config.fields().members()) {
    if (schema_of<TrainerConfig>().find(member.key) != nullptr) {
      common.set(member.key, member.value);
    }
  }
  return decode<TrainerConfig>(common, config.path());
}

void check_before_start(const ResolvedConfig& config, const TrainerConfig& trainer) {
  if (!trains(config.experiment.mode) || trainer.train_steps > 0) return;
  throw ConfigError(Diagnostic{.where = origin_of(config.tree, "trainer.train_steps"),
                               .path = "trainer.train_steps",
                               .what = "is 0: nothing to train",
                               .hint = "set it, or use mode = \"eval\""});
}

std::unique_ptr<Device> open_device(const RunRequest& request) {
  DeviceOptions options = device_options(request.config, request.world);
  options.options = backend_options(request.config.backend_options);
  options.memory_limit =
      static_cast<std::uint64_t>(request.config.experiment.runtime.memory_limit.count);
  return Device::open(backend_table(request.config), std::move(options));
}

std::unique_ptr<Device> open_meta_device_for(const ResolvedConfig& config) {
  return open_meta_device(backend_table(config), device_options(config));
}

int run_in(const RunRequest& request, const RunLocation& location, Device& device,
           const TrainerConfig& fields, const StopSignals& signals, RunView& view,
           std::optional<WorkIsDone>* done, Logs* eval_logs) {
  RunSession session(request, location, device, fields, signals, view);
  try {
    const int code = session.execute();
    if (done != nullptr) done->emplace(code);
    if (eval_logs != nullptr) *eval_logs = session.last_eval_logs();
    return code;
  } catch (const std::exception& failure) {
    session.fail(failure);
    throw;
  }
}

}  // namespace trivet

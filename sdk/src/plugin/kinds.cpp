// SPDX-License-Identifier: Apache-2.0
// Key functions and defaults of the small base classes: they stand here, out of line, so that each
// class has one vtable and one type information in the process, that of libtrivet.
#include "trivet/train/checkpoint.h"
#include "trivet/command.h"
#include "trivet/data_source.h"
#include "trivet/input.h"
#include "trivet/launch/jobs_provider.h"
#include "trivet/launch/orchestrator.h"
#include "trivet/search/sampler.h"
#include "trivet/search/stopper.h"
#include "trivet/launch/subdir_format.h"
#include "trivet/launch/sweep_info.h"
#include "trivet/layer.h"
#include "trivet/metric.h"
#include "trivet/model.h"
#include "trivet/optimizer.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"
#include "trivet/schedule.h"
#include "trivet/summary_writer.h"
#include "trivet/trainer.h"

namespace trivet {

Layer::~Layer() = default;
const void* Layer::extension(std::string_view) const noexcept {
  return nullptr;
}

Model::~Model() = default;
const void* Model::extension(std::string_view) const noexcept {
  return nullptr;
}

Input::~Input() = default;
std::optional<std::int64_t> Input::batches_per_epoch() const {
  return std::nullopt;
}
const void* Input::extension(std::string_view) const noexcept {
  return nullptr;
}

namespace {

std::optional<Batch> checked_next(Input& input) {
  std::optional<Batch> batch = input.get_next();
  if (!batch) return batch;
  for (const auto& [path, tensor] : *batch) {
    if (!tensor.defined()) throw PluginError("gave a batch whose '" + path + "' is no tensor");
  }
  return batch;
}

}  // namespace

std::optional<Batch> next_batch(Input& input, const ConfigOf<Input>& config) {
  const RegistryItem* item = registry().find(Input::kKind, config.key());
  if (item == nullptr) return checked_next(input);
  const PluginCall call(item, "get_next", config.path().c_str());
  try {
    return checked_next(input);
  } catch (...) {
    rethrow_from_plugin(item, "get_next", {.where = config.origin(), .path = config.path()});
  }
}

std::optional<Batch> peek(Input& input) {
  const Value place = input.save_state();
  std::optional<Batch> batch = input.get_next();
  input.restore_state(place);
  return batch;
}

void InputConfig::validate(Problems& problems) const {
  if (infeed_host_index >= num_infeed_hosts) {
    problems.add("infeed_host_index", "must be less than num_infeed_hosts (" +
                                          std::to_string(num_infeed_hosts) + "), is " +
                                          std::to_string(infeed_host_index));
  }
}

DataSource::~DataSource() = default;

Metric::~Metric() = default;

Schedule::~Schedule() = default;

Optimizer::~Optimizer() = default;
double Optimizer::slot_start(std::string_view) const {
  return 0;
}
Shape Optimizer::slot_shape(std::string_view, const Parameter& parameter) const {
  return parameter.shape();
}
std::int64_t Optimizer::group_of(const Parameter&) const {
  return 0;
}
void Optimizer::check_variables(std::span<const Parameter* const>) const {}

bool Optimizer::per_variable() const {
  return false;
}

DivergedError::DivergedError(const DivergedError&) = default;
DivergedError::~DivergedError() = default;

Trainer::~Trainer() = default;
void Trainer::recover(const CheckpointReader& reader) {
  restore(reader);
}
std::vector<TrainingStage> Trainer::stages() const {
  return {TrainingStage{}};
}
std::size_t Trainer::stage() const {
  return 0;
}
void Trainer::next_stage() {
  throw Error("the trainer has one stage, and there is none to go on to");
}
const void* Trainer::extension(std::string_view) const noexcept {
  return nullptr;
}
NamedTensors Trainer::export_tensors() {
  NamedTensors tensors;
  for (const auto& parameter : parameters().parameters()) {
    tensors.emplace_back(parameter->path(), parameter->value());
  }
  return tensors;
}
TrainerObserver::~TrainerObserver() = default;
void TrainerObserver::on_train_tokens(std::int64_t) {}
bool TrainerObserver::wants_summaries() const {
  return false;
}
void TrainerObserver::on_summaries(std::string_view, std::int64_t, const Summaries&) {}
void TrainerObserver::note(const std::string&) {}

void TrainerObserver::warn(const std::string& text) {
  note(text);
}

CheckpointWriter::~CheckpointWriter() = default;
CheckpointReader::~CheckpointReader() = default;

SummaryWriter::~SummaryWriter() = default;
void SummaryWriter::begin(std::int64_t) {}
void SummaryWriter::summaries(std::string_view, std::int64_t, const Summaries&) {}

Command::~Command() = default;
CommandContext::~CommandContext() = default;
TrainedRun::~TrainedRun() = default;

Orchestrator::~Orchestrator() = default;
void Orchestrator::check(std::span<const launch::WorkUnit>, Problems&) {}
void Orchestrator::refresh(std::span<const std::int64_t>) {}
std::vector<std::string> Orchestrator::intent() const {
  return {};
}

bool Orchestrator::makes_units() const {
  return false;
}
bool Orchestrator::has_supervisor() const {
  return false;
}
void Orchestrator::supervise(const Supervision&) {
  throw Error("the orchestrator has no supervisor");
}
launch::UnitRecords::~UnitRecords() = default;

JobsProvider::~JobsProvider() = default;
Sampler::~Sampler() = default;
Stopper::~Stopper() = default;
SweepInfo::~SweepInfo() = default;
std::vector<std::string> SweepInfo::tags() const {
  return {};
}
bool SweepInfo::sweeps_config() const {
  return false;
}
bool SweepInfo::needs_names() const {
  return false;
}

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
#include "processes/lead_trainer.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/state_value.h"
#include "device/step_exchanges.h"
#include "trivet/config/json.h"

namespace trivet {
namespace {

Value order_of(std::string_view call, Value argument = {}) {
  return Value::table({{"call", std::string(call)}, {"argument", std::move(argument)}});
}

// Where all processes find it: they share the run's file system.
std::string location_of(const CheckpointReader& reader) {
  const auto* found = dynamic_cast<const CheckpointDirectoryReader*>(&reader);
  if (found == nullptr) throw Error(reader.description() + " is no directory that others can read");
  return std::filesystem::absolute(found->directory()).string();
}

// Rank 0 saves for all.
class DroppedCheckpoint final : public CheckpointWriter {
 public:
  void write_tensors(std::string_view, const NamedTensors&) override {}
  void state(std::string_view, const Value&) override {}
  bool keeps() const override { return false; }
};

void obey(Trainer& trainer, std::string_view call, const Value& argument) {
  if (call == "train") {
    trainer.train(argument.as_integer());
  } else if (call == "train_logs") {
    trainer.train_logs();
  } else if (call == "evaluate") {
    trainer.evaluate(argument.as_integer());
  } else if (call == "evaluate_set") {
    trainer.evaluate_set(static_cast<std::size_t>(member(argument, "set").as_integer()),
                         member(argument, "steps").as_integer());
  } else if (call == "initialize") {
    trainer.initialize();
  } else if (call == "save") {
    DroppedCheckpoint dropped;
    trainer.save(dropped);
  } else if (call == "export_tensors") {
    trainer.export_tensors();
  } else if (call == "restore") {
    trainer.restore(CheckpointDirectoryReader(argument.as_string()));
  } else if (call == "recover") {
    trainer.recover(CheckpointDirectoryReader(argument.as_string()));
  } else {
    trainer.next_stage();
  }
}

// While it lives, the other processes make the call of rank 0.
class Together {
 public:
  explicit Together(World& world) : world_(world) { world_.set_alone(false); }
  ~Together() { world_.set_alone(true); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

 private:
  World& world_;
};

}  // namespace

LeadTrainer::LeadTrainer(std::unique_ptr<Trainer> inner, World& world)
    : TrainerDecorator(std::move(inner)), world_(world) {
  world_.set_alone(true);
}

template <class Call>
auto LeadTrainer::with_all(const Value& order, const Call& call) {
  const Together together(world_);
  broadcast_text(world_, to_json(order));
  try {
    return call();
  } catch (const DivergedError&) {
    // All have found the same step bad.
    world_.take_failures();
    throw;
  }
}

void LeadTrainer::train(std::int64_t target) {
  with_all(order_of("train", target), [&] { inner().train(target); });
}

Logs LeadTrainer::train_logs() {
  return with_all(order_of("train_logs"), [&] { return inner().train_logs(); });
}

Logs LeadTrainer::evaluate(std::int64_t steps) {
  return with_all(order_of("evaluate", steps), [&] { return inner().evaluate(steps); });
}

Logs LeadTrainer::evaluate_set(std::size_t set, std::int64_t steps) {
  const Value argument = Value::table({{"set", static_cast<std::int64_t>(set)}, {"steps", steps}});
  return with_all(order_of("evaluate_set", argument),
                  [&] { return inner().evaluate_set(set, steps); });
}

void LeadTrainer::initialize() {
  with_all(order_of("initialize"), [&] { inner().initialize(); });
}

void LeadTrainer::save(CheckpointWriter& writer) {
  with_all(order_of("save"), [&] { inner().save(writer); });
}

NamedTensors LeadTrainer::export_tensors() {
  return with_all(order_of("export_tensors"), [&] { return inner().export_tensors(); });
}

void LeadTrainer::restore(const CheckpointReader& reader) {
  with_all(order_of("restore", location_of(reader)), [&] { inner().restore(reader); });
}

void LeadTrainer::recover(const CheckpointReader& reader) {
  with_all(order_of("recover", location_of(reader)), [&] { inner().recover(reader); });
}

void LeadTrainer::next_stage() {
  with_all(order_of("next_stage"), [&] { inner().next_stage(); });
}

void LeadTrainer::end() {
  const Together together(world_);
  broadcast_text(world_, to_json(order_of("end")));
}

void follow(Trainer& trainer, World& world, double timeout) {
  while (true) {
    world.set_timeout(World::kNoLimit);
    const Value order = value_from_json(broadcast_text(world, {}), "rank 0");
    world.set_timeout(timeout);
    const std::string& call = member(order, "call").as_string();
    if (call == "end") return;
    try {
      obey(trainer, call, member(order, "argument"));
    } catch (const DivergedError& bad) {
      world.tell({.text = bad.message()});
    }
  }
}

static_assert(sizeof(StepRecord) == kStepRecordBytes);

std::vector<StepRecord> exchange_records(World& world, const StepRecord& mine) {
  std::vector<StepRecord> all(static_cast<std::size_t>(world.size()));
  world.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

bool any_stops(const std::vector<StepRecord>& records) {
  return std::ranges::any_of(records, [](const StepRecord& one) { return one.stops != 0; });
}

}  // namespace trivet

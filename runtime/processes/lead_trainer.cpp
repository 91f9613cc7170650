// SPDX-License-Identifier: Apache-2.0
#include "processes/lead_trainer.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_snapshot.h"
#include "checkpoint/state_value.h"
#include "device/step_exchanges.h"
#include "processes/order.h"
#include "processes/part_saver.h"
#include "trivet/config/json.h"

namespace trivet {
namespace {

// Where all processes find it: they share the run's file system.
std::string location_of(const CheckpointReader& reader) {
  const auto* found = dynamic_cast<const CheckpointDirectoryReader*>(&reader);
  if (found == nullptr) throw Error(reader.description() + " is no directory that others can read");
  return std::filesystem::absolute(found->directory()).string();
}

// The same of a checkpoint that they write together.
std::string location_of(const CheckpointWriter& writer) {
  const auto* found = dynamic_cast<const CheckpointSnapshot*>(&writer);
  if (found == nullptr || found->part() == nullptr) {
    throw Error("several processes save into a directory, and into nothing else");
  }
  return std::filesystem::absolute(found->part()->directory).string();
}

void obey(Trainer& trainer, PartSaver& saver, std::string_view call, const Value& argument) {
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
    saver.save(trainer, argument.as_string());
  } else if (call == kEndOfSave) {
    saver.finish();
  } else if (call == "export_tensors") {
    trainer.export_tensors();
  } else if (call == "restore") {
    trainer.restore(CheckpointDirectoryReader::checked_by_another(argument.as_string()));
  } else if (call == "recover") {
    trainer.recover(CheckpointDirectoryReader::checked_by_another(argument.as_string()));
  } else {
    trainer.next_stage();
  }
}

}  // namespace

LeadTrainer::LeadTrainer(std::unique_ptr<Trainer> inner, World& world)
    : TrainerDecorator(std::move(inner)), world_(world) {
  world_.set_alone(true);
}

template <class Call>
auto LeadTrainer::with_all(const Order& order, const Call& call) {
  const Together together(world_);
  give(world_, order);
  try {
    return call();
  } catch (const DivergedError&) {
    // All have found the same step bad.
    world_.take_failures();
    throw;
  }
}

void LeadTrainer::train(std::int64_t target) {
  with_all({"train", target}, [&] { inner().train(target); });
}

Logs LeadTrainer::train_logs() {
  return with_all({"train_logs"}, [&] { return inner().train_logs(); });
}

Logs LeadTrainer::evaluate(std::int64_t steps) {
  return with_all({"evaluate", steps}, [&] { return inner().evaluate(steps); });
}

Logs LeadTrainer::evaluate_set(std::size_t set, std::int64_t steps) {
  const Value argument = Value::table({{"set", static_cast<std::int64_t>(set)}, {"steps", steps}});
  return with_all({"evaluate_set", argument}, [&] { return inner().evaluate_set(set, steps); });
}

void LeadTrainer::initialize() {
  with_all({"initialize"}, [&] { inner().initialize(); });
}

void LeadTrainer::save(CheckpointWriter& writer) {
  with_all({"save", location_of(writer)}, [&] { inner().save(writer); });
}

NamedTensors LeadTrainer::export_tensors() {
  return with_all({"export_tensors"}, [&] { return inner().export_tensors(); });
}

void LeadTrainer::restore(const CheckpointReader& reader) {
  with_all({"restore", location_of(reader)}, [&] { inner().restore(reader); });
}

void LeadTrainer::recover(const CheckpointReader& reader) {
  with_all({"recover", location_of(reader)}, [&] { inner().recover(reader); });
}

void LeadTrainer::next_stage() {
  with_all({"next_stage"}, [&] { inner().next_stage(); });
}

void LeadTrainer::end() {
  const Together together(world_);
  give(world_, {"end"});
}

void follow(Trainer& trainer, World& world, PartSaver& saver, double timeout) {
  while (true) {
    world.set_timeout(World::kNoLimit);
    const Value order = value_from_json(broadcast_text(world, {}), "rank 0");
    world.set_timeout(timeout);
    const std::string& call = member(order, "call").as_string();
    if (call == "end") return;
    try {
      obey(trainer, saver, call, member(order, "argument"));
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

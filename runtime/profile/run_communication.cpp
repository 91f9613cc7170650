// SPDX-License-Identifier: Apache-2.0
#include "profile/run_communication.h"

#include <thread>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/terminal_text.h"
#include "config/modes.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/os/file.h"
#include "trivet/os/process.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "communication.json";
constexpr std::int64_t kVersion = 1;

Value mesh_value(const MeshConfig& mesh) {
  return Value::table({{"axes", Value::array_of(mesh.mesh_axis_names)},
                       {"ici", Value::array_of(mesh.ici_mesh_shape)},
                       {"dcn", Value::array_of(mesh.dcn_mesh_shape)},
                       {"processes", mesh.processes}});
}

std::string mesh_text(const Value& mesh) {
  std::string text;
  for (const char* key : {"axes", "ici", "dcn", "processes"}) {
    const Value* part = mesh.find(key);
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key,
                        part != nullptr ? to_toml(*part) : "(missing)");
  }
  return text;
}

struct Communication {
  ExchangeProfile profile;
  Value mesh;
  std::int64_t weights = 0;
  std::string collective;
};

// Throws RunError.
Communication read_communication(const fs::path& file) {
  const std::string source = file.string();
  try {
    const Value value = value_from_json(read_text_file(file), source);
    if (const std::int64_t version = value.at("version", source).as_integer();
        version != kVersion) {
      throw RunError(
          fmt::format("{} is of version {}, and this program reads {}", source, version, kVersion));
    }
    return {.profile = exchange_profile(value, source),
            .mesh = value.at("mesh", source),
            .weights = value.at("weights", source).as_integer(),
            .collective = value.at("collective", source).as_string()};
  } catch (const ConfigError& wrong_type) {
    throw RunError(source + ": " + wrong_type.message());
  }
}

// Why a profile does not describe a run; empty if it does.
std::string difference_of_mesh(const Communication& found, const MeshConfig& mesh) {
  const Value own = mesh_value(mesh);
  if (found.mesh == own) return {};
  return fmt::format("was measured on another mesh ({}) than that of the run ({})",
                     mesh_text(found.mesh), mesh_text(own));
}

std::string difference_of_model(const Communication& found, std::int64_t weights) {
  if (found.weights == weights) return {};
  return fmt::format("was measured with a model of {} weights, and that of the run has {}",
                     found.weights, weights);
}

ConfigError refusal(const ResolvedConfig& config, const std::string& what) {
  const Value* given = config.tree.find_path("mesh.profile");
  return ConfigError(Diagnostic{
      .where = given != nullptr ? given->origin() : Origin(),
      .path = "mesh.profile",
      .what = what,
      .hint = "give the communication.json of a run with the same mesh, processes and model, or "
              "leave mesh.profile out: the run measures its first steps"});
}

fs::path given_file(const MeshConfig& mesh) {
  const fs::path path = mesh.profile.text;
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? path / kFile : path;
}

Communication read_given(const ResolvedConfig& config) {
  const MeshConfig& mesh = config.experiment.mesh;
  const fs::path file = given_file(mesh);
  try {
    Communication found = read_communication(file);
    if (const std::string other = difference_of_mesh(found, mesh); !other.empty()) {
      throw refusal(config, fmt::format("{} {}", file.string(), other));
    }
    return found;
  } catch (const RunError& unreadable) {
    throw refusal(config, unreadable.message());
  }
}

std::string ms_text(double seconds) {
  return fmt::format("{:.3g} ms", 1e3 * seconds);
}

class CommunicationFile {
 public:
  explicit CommunicationFile(const CommunicationParts& parts)
      : parts_(parts), weights_(parts.trainer.parameters().trainable_count()) {}

  std::optional<ExchangeProfile> known() const {
    const MeshConfig& mesh = parts_.config.experiment.mesh;
    if (!mesh.profile.empty()) {
      Communication found = read_given(parts_.config);
      if (const std::string other = difference_of_model(found, weights_); !other.empty()) {
        throw refusal(parts_.config, fmt::format("{} {}", given_file(mesh).string(), other));
      }
      if (found.collective != parts_.world.key()) {
        parts_.warn(fmt::format("mesh.profile: {} was measured with {}, and the run has {}",
                                given_file(mesh).string(), found.collective, parts_.world.key()));
      }
      return std::move(found.profile);
    }
    return own();
  }

  void keep(const ChosenOverlap& chosen) const {
    parts_.note(text_of(chosen));
    const MeshConfig& mesh = parts_.config.experiment.mesh;
    Value value = Value::table(
        {{"version", kVersion},
         {"mesh", mesh_value(mesh)},
         {"weights", weights_},
         {"collective", parts_.world.key()},
         {"machine",
          Value::table({{"host", host_name()},
                        {"cores", static_cast<std::int64_t>(std::thread::hardware_concurrency())},
                        {"processes", parts_.world.local_size()},
                        {"backend", parts_.device.key()},
                        {"description", static_cast<const char*>(parts_.device.info().name)}})}});
    const Value profile = to_value(chosen.profile);
    for (const Value::Member& member : profile.members()) value.set(member.key, member.value);
    value.set("overlap", chosen.choice.overlap);
    Value expected = Value::array();
    for (std::size_t i = 0; i < chosen.choice.expected.size(); ++i) {
      const ExpectedStep& step = chosen.choice.expected[i];
      expected.push_back(Value::table({{"overlap", static_cast<std::int64_t>(i)},
                                       {"step_seconds", step.seconds},
                                       {"exposed_seconds", step.exposed_seconds}}));
    }
    value.set("expected", std::move(expected));
    // A file that cannot be written must not cost the run.
    try {
      replace_file(parts_.directory / kFile, to_json(value, JsonStyle::indented),
                   Durability::cached);
    } catch (const Error& failure) {
      parts_.warn("the profile of exchanges is not kept: " + failure.message());
    }
  }

 private:
  // That of the run, where it continues with the same mesh, model and engine.
  std::optional<ExchangeProfile> own() const {
    const fs::path file = parts_.directory / kFile;
    const auto measures_again = [&](const std::string& why) {
      parts_.warn(why + "; the run measures its first steps again");
      return std::nullopt;
    };
    try {
      if (!is_there(file)) return std::nullopt;
      Communication found = read_communication(file);
      std::string other = difference_of_mesh(found, parts_.config.experiment.mesh);
      if (other.empty()) other = difference_of_model(found, weights_);
      if (other.empty() && found.collective != parts_.world.key()) {
        other = fmt::format("was measured with {}, and the run has {}", found.collective,
                            parts_.world.key());
      }
      if (!other.empty()) return measures_again(fmt::format("{} {}", file.string(), other));
      return std::move(found.profile);
    } catch (const RunError& unreadable) {
      return measures_again(unreadable.message());
    }
  }

  std::string text_of(const ChosenOverlap& chosen) const {
    const OverlapChoice& choice = chosen.choice;
    const ExpectedStep& before = choice.expected.front();
    const ExpectedStep& after = choice.expected[static_cast<std::size_t>(choice.overlap)];
    std::string from = fmt::format("measured in steps {} to {} of this process", chosen.first_step,
                                   chosen.last_step);
    if (chosen.last_step == 0) {
      const MeshConfig& mesh = parts_.config.experiment.mesh;
      from =
          "from " + (mesh.profile.empty() ? parts_.directory / kFile : given_file(mesh)).string();
    }
    return fmt::format(
        "mesh.overlap = {}: of a step of {} without overlap {} wait for exchanges of units, and {} "
        "are expected to remain ({}{})",
        choice.overlap, ms_text(before.seconds), ms_text(before.exposed_seconds),
        ms_text(after.exposed_seconds), from,
        chosen.is_limited ? "; more would need more memory than runtime.memory_limit" : "");
  }

  const CommunicationParts parts_;
  const std::int64_t weights_;
};

}  // namespace

void check_communication(const ResolvedConfig& config) {
  const ExperimentConfig& experiment = config.experiment;
  if (trains(experiment.mode) && !experiment.mesh.profile.empty()) read_given(config);
}

std::unique_ptr<OverlapTuner> make_overlap_tuner(const CommunicationParts& parts) {
  const ExperimentConfig& experiment = parts.config.experiment;
  if (experiment.mesh.overlap) return nullptr;
  const auto file = std::make_shared<CommunicationFile>(parts);
  OverlapTuner::Lead lead{.known = file->known(),
                          .on_choice = [file](const ChosenOverlap& chosen) { file->keep(chosen); }};
  return std::make_unique<OverlapTuner>(
      parts.world, parts.device, static_cast<std::uint64_t>(experiment.runtime.memory_limit.count),
      std::move(lead));
}

std::string unused_overlap(const MeshConfig& mesh, const World* world, Trainer& trainer) {
  if (!mesh.overlap && mesh.profile.empty()) return {};
  const char* field = mesh.overlap ? "mesh.overlap" : "mesh.profile";
  if (world == nullptr) return fmt::format("{} has no effect: the run is one process", field);
  const ParameterStore& store = trainer.parameters();
  if (store.is_in_parts() || store.keeps_all()) return {};
  return fmt::format(
      "{} has no effect: each process has whole weights, and exchanges at the end of a step",
      field);
}

}  // namespace trivet

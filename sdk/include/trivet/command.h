// SPDX-License-Identifier: Apache-2.0
// Command: a subcommand of the program that a plugin brings. The item's name is what is typed:
//
//   trivet::command<acme::Greet>("greet", "Says hello")            // in TRIVET_PLUGIN of acme
//
//   $ trivet greet --loud you
//
// A command of the program itself comes first; where two plugins bring one of the same name,
// "acme/greet" names it. `trivet --help` lists the item's doc, which is one line without a full
// stop. Arguments are best read by arguments.h, so that all commands have the same form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/data/safetensors.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/device.h"
#include "trivet/train/checkpoint.h"

namespace trivet {

struct CommandConfig {};
TRIVET_CONFIG(CommandConfig, trivet::NoBase)

// The trained weights of a run, as `trivet generate` uses them.
class TRIVET_API TrainedRun {
 public:
  virtual ~TrainedRun();
  // Of the run. [main-thread]
  virtual const std::filesystem::path& directory() const = 0;
  // Complete, references resolved. [main-thread]
  virtual const Value& config() const = 0;
  // The variables of its model by path, in the model's order. They live as long as this object.
  // [main-thread]
  virtual const NamedTensors& weights() const = 0;
  // The number of training steps of the weights. [main-thread]
  virtual std::int64_t step() const = 0;
  // Whether the weights are moving averages. [main-thread]
  virtual bool averaged() const = 0;
  // Where the weights are. [main-thread]
  virtual Device& device() = 0;
};

// The services of the program for commands. The object outlives them.
class TRIVET_API CommandContext {
 public:
  virtual ~CommandContext();
  // The config that the words name, as `trivet config show` prints it: CONFIG [K=V ...] with the
  // options of every command that takes one. Complete, references resolved. Throws UsageError and
  // ConfigError. [main-thread]
  virtual Value config(std::span<const std::string> words) = 0;
  // A run by its directory, by one of its checkpoints, or as XID/WID; `overrides` as those of
  // --set. Its moving averages are its weights where it has them and task.init_load.averages is not
  // false. Throws as `trivet generate`.
  // [main-thread]
  virtual std::unique_ptr<TrainedRun> trained(const std::string& run,
                                              std::span<const std::string> overrides) = 0;
  // Writes a checkpoint of a model into a run's directory, which must have none: what `trained`,
  // `trivet ckpt` and task.init_checkpoint find there. Whole or not at all. Throws RunError.
  // [main-thread]
  virtual void save_checkpoint(const std::filesystem::path& run,
                               std::span<const SafetensorsEntry> model, std::int64_t step) = 0;
};

class TRIVET_API Command : public Object {
 public:
  static constexpr std::string_view kKind = "command";
  using Config = CommandConfig;
  using Context = CommandContext;

  ~Command() override;
  // Gets the words after the subcommand's name, `--help` among them if it was given; --plugin-dir
  // is the program's. Returns the exit code, or throws Error, which the program prints and turns
  // into one. Writes to stdout itself; the program tells when that failed. [main-thread]
  virtual int run(std::span<const std::string> words) = 0;
};

}  // namespace trivet

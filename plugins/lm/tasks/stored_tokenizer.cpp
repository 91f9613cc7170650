// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/stored_tokenizer.h"

#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/plugin/registry.h"

namespace trivet::lm {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& run) {
  return run / "tokenizer";
}

fs::path record_of(const fs::path& run) {
  return folder_of(run) / "stored.json";
}

struct Stored {
  std::string fingerprint;
  ConfigOf<Tokenizer> config;  // empty if only the fingerprint was stored
};

// The config with file names in the folder.
ConfigOf<Tokenizer> config_in_folder(const ConfigOf<Tokenizer>& config, const fs::path& folder) {
  if (!config) return config;
  Value fields = config.fields();
  for (const Field& field : registry().get(Tokenizer::kKind, config.key()).schema().fields) {
    const Value* name = fields.find(field.name);
    const bool is_file = field.type.form == FieldType::Form::path && name != nullptr &&
                         name->is_string() && !name->as_string().empty();
    if (is_file) fields.set(field.name, (folder / name->as_string()).string());
  }
  return {std::string(config.key()), std::move(fields)};
}

std::optional<Stored> stored_in(const fs::path& run) {
  if (run.empty() || !keeps_tokenizer(run)) return std::nullopt;
  const std::string file = record_of(run).string();
  const Value record = value_from_json(read_text_file(file), file);
  const Value* fingerprint = record.find("fingerprint");
  const Value* config = record.find("tokenizer");
  if (fingerprint == nullptr || !fingerprint->is_string() || config == nullptr) {
    throw RunError(file + " is damaged: it has no fingerprint or no tokenizer");
  }
  Stored stored{fingerprint->as_string(), {}};
  if (!config->is_null()) {
    stored.config = config_in_folder(
        ConfigOf<Tokenizer>(ConfigValue::from_value(*config, Tokenizer::kKind, "tokenizer")),
        folder_of(run));
  }
  return stored;
}

std::string describe(const std::string& fingerprint, const ConfigOf<Tokenizer>& config) {
  return fingerprint + " " + (config ? to_toml(config.to_value()) : "(missing)");
}

[[noreturn]] void throw_different(const Stored& stored, const std::string& fingerprint,
                                  const ConfigOf<Tokenizer>& config, const std::string& whose,
                                  const std::string& hint) {
  throw ConfigError(Diagnostic{.path = "task.tokenizer",
                               .what = "is not that of " + whose + "\n  the config's  " +
                                       describe(fingerprint, config) + "\n  the run's     " +
                                       describe(stored.fingerprint, stored.config),
                               .hint = hint});
}

// Returns the run that contains a weights file; empty if no parent folder stores a tokenizer.
fs::path run_above(const fs::path& weights) {
  fs::path folder = weights;
  // run/checkpoints/step_1/model.safetensors
  for (int levels = 3; levels > 0; --levels) {
    folder = folder.parent_path();
    if (keeps_tokenizer(folder)) return folder;
  }
  return {};
}

// Returns the tokenizer that the run stores. Throws `reason` if it stores none.
std::unique_ptr<Tokenizer> load_stored(const std::optional<Stored>& stored, const fs::path& run,
                                       const InputError& reason) {
  if (!stored || !stored->config) throw InputError(reason);
  auto tokenizer = make(stored->config);
  if (tokenizer->fingerprint() != stored->fingerprint) {
    throw RunError(folder_of(run).string() + " is damaged: its tokenizer has the fingerprint " +
                   tokenizer->fingerprint() + " instead of " + stored->fingerprint);
  }
  return tokenizer;
}

}  // namespace

bool keeps_tokenizer(const fs::path& run) {
  std::error_code ignored;
  return fs::exists(record_of(run), ignored);
}

ConfigOf<Tokenizer> store_tokenizer(const Tokenizer& tokenizer, const fs::path& run) {
  const fs::path folder = folder_of(run);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw RunError("cannot create " + folder.string() + ": " + error.message());
  const ConfigOf<Tokenizer> config = tokenizer.store(folder);
  // Written last, so that a record exists only for complete files.
  replace_file(record_of(run), to_json(Value::table({{"fingerprint", tokenizer.fingerprint()},
                                                     {"tokenizer", config.to_value()}}),
                                       JsonStyle::indented));
  return config_in_folder(config, folder);
}

std::unique_ptr<Tokenizer> tokenizer_of_run(const ConfigOf<Tokenizer>& config,
                                            const fs::path& run) {
  const std::optional<Stored> stored = stored_in(run);
  std::unique_ptr<Tokenizer> tokenizer;
  try {
    tokenizer = make(config);
  } catch (const InputError& unreadable) {
    return load_stored(stored, run, unreadable);
  }
  const std::string fingerprint = tokenizer->fingerprint();
  if (stored && stored->fingerprint != fingerprint) {
    throw_different(*stored, fingerprint, config, "the run " + run.string(),
                    "the run's weights depend on its tokenizer: restore the files, use the run's "
                    "tokenizer, or start a new run");
  }
  return tokenizer;
}

namespace {

void check_tokens_of(const std::string& file, const Tokenizer& own,
                     const ConfigOf<Tokenizer>& config, const LoadReport& loaded,
                     std::span<const std::string_view> layers) {
  const fs::path run = run_above(file);
  const std::optional<Stored> stored = stored_in(run);
  if (!stored || stored->fingerprint == own.fingerprint()) return;
  std::string variables, patterns;
  for (const std::string_view layer : layers) {
    const std::string below = std::string(layer) + "/";
    bool is_loaded = false;
    for (const LoadReport::Entry& entry : loaded.entries) {
      const bool is_of_file = entry.status == LoadReport::Status::loaded && entry.file == file;
      if (!is_of_file || !entry.variable.starts_with(below)) continue;
      variables += (variables.empty() ? "'" : ", '") + entry.variable + "'";
      is_loaded = true;
    }
    if (is_loaded) patterns += (patterns.empty() ? "'" : ", '") + below + ".*'";
  }
  if (variables.empty()) return;
  throw_different(
      *stored, own.fingerprint(), config,
      "the run " + run.string() + ", from which task.init_checkpoint loads " + variables,
      "embedding rows depend on the tokenizer: use the run's tokenizer, or initialize them "
      "again, task.init_load.ignore = [" +
          patterns + "]");
}

}  // namespace

void check_loaded_tokens(const Tokenizer& own, const ConfigOf<Tokenizer>& config,
                         const LoadReport& loaded, std::span<const std::string_view> layers) {
  std::set<std::string> files;
  for (const LoadReport::Entry& entry : loaded.entries) {
    if (entry.status == LoadReport::Status::loaded) files.insert(entry.file);
  }
  for (const std::string& file : files) check_tokens_of(file, own, config, loaded, layers);
}

}  // namespace trivet::lm

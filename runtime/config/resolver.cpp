// SPDX-License-Identifier: Apache-2.0
#include "config/resolver.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "config/experiment_loader.h"
#include "config/layer_loader.h"
#include "config/overrides/apply_overrides.h"
#include "config/program_set.h"
#include "config/toml/toml_reader.h"
#include "config/toml/toml_writer.h"
#include "config/tree/defaults_filler.h"
#include "config/tree/mesh_axes.h"
#include "config/tree/references.h"
#include "config/tree/rule_checker.h"
#include "config/tree/zero_bytes.h"

namespace trivet {
namespace {

constexpr const char* kRestrictions = "restrictions";

// Removes a member from a table. Returns null if it is missing.
Value take(Value& table, std::string_view key) {
  Value taken;
  if (Value* found = table.find(key)) taken = std::move(*found);
  table.erase(key);
  return taken;
}

// Removes the keys of a file that ExperimentConfig lacks.
Value experiment_part(Value tree) {
  const Schema& schema = schema_of<ExperimentConfig>();
  std::erase_if(tree.members(), [&](const Value::Member& member) {
    return config_file_schema().find(member.key) != nullptr && schema.find(member.key) == nullptr;
  });
  return tree;
}

bool has_run(const Value& layer) {
  return layer.find("task") != nullptr || layer.find("experiment") != nullptr;
}

// Sorted by location: files, the command line, defaults.
void throw_if_any(Diagnostics& diagnostics) {
  if (diagnostics.empty()) return;
  diagnostics.sort();
  std::vector<Diagnostic> list = diagnostics.list();
  const auto rank = [](const Diagnostic& problem) {
    if (problem.where.file.empty()) return 2;
    return problem.where.file == kCommandLine ? 1 : 0;
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return rank(a) < rank(b); });
  throw ConfigError(std::move(list));
}

class Resolution {
 public:
  Resolution(const ConfigRequest& request, ConfigCatalog& catalog, Diagnostics& diagnostics)
      : request_(request),
        catalog_(catalog),
        diagnostics_(diagnostics),
        schema_(&config_file_schema()),
        tree_(*schema_, catalog.schemas()) {}

  // For a launch: [xp] is checked, and the run's config may be missing.
  Resolution(const ConfigRequest& request, ConfigCatalog& catalog, Diagnostics& diagnostics,
             const Schema& schema)
      : request_(request),
        catalog_(catalog),
        diagnostics_(diagnostics),
        schema_(&schema),
        tree_(*schema_, catalog.schemas()) {}

  void merge_layers(std::vector<Value> layers);
  void fill();
  void resolve();
  Value take_root() { return std::move(root_); }
  Value take_referring() { return std::move(referring_); }
  Value take_given() { return std::move(given_); }
  Value take_from_files() { return std::move(from_files_); }
  ExperimentConfig take_decoded() { return std::move(experiment_.value()); }

 private:
  void add_experiment(const Value& name);
  void add_restrictions();
  std::exception_ptr check(Diagnostics& found);
  void check_defaults(Diagnostics& found);
  void check_backend(Diagnostics& found);
  void check_backend_rules(RuleChecker& rules);
  void check_experiment(RuleChecker& rules, Diagnostics& found);
  void keep_distinct();

  bool is_run() const { return schema_->find("task") != nullptr; }

  const ConfigRequest& request_;
  ConfigCatalog& catalog_;
  Diagnostics& diagnostics_;
  const Schema* schema_;
  TypedTree tree_;
  Value root_ = Value::table();
  // Before overrides, defaults and references.
  Value from_files_, given_, referring_;
  std::optional<ExperimentConfig> experiment_;  // of a run's config that nothing is wrong with
  std::vector<std::string> restricted_;         // the experiments this config starts from
};

std::vector<Value> load_layers(const std::vector<std::filesystem::path>& files,
                               const ConfigRequest& request, Diagnostics& diagnostics) {
  LayerLoader loader(diagnostics, &request.texts);
  for (const std::filesystem::path& file : files) loader.load(file);
  // Missing layers would only cause misleading follow-up errors.
  throw_if_any(diagnostics);
  return loader.take();
}

void Resolution::merge_layers(std::vector<Value> layers) {
  Value experiment = take_experiment(layers);
  if (!request_.experiment.empty()) {
    experiment = request_.experiment;
    experiment.set_origin({.note = "--experiment " + request_.experiment});
  }
  if (!experiment.is_null() && request_.load_experiments) add_experiment(experiment);
  for (Value& layer : layers) tree_.merge(root_, std::move(layer), tree_.root());
  // Before the overrides, which may replace `restrictions`.
  add_restrictions();
  from_files_ = root_;
  apply_overrides(root_, tree_, request_.overrides, diagnostics_);
  add_program_set(root_);
}

void Resolution::add_experiment(const Value& name) {
  ExperimentLoader loader(tree_, catalog_, diagnostics_);
  loader.load(name);
  throw_if_any(diagnostics_);
  for (Value& layer : loader.take()) tree_.merge(root_, std::move(layer), tree_.root());
  restricted_ = loader.restricted();
}

// Adds to the list of a file. A value that is not a list is rejected later.
void Resolution::add_restrictions() {
  for (const std::string& key : restricted_) {
    Value* list = root_.find(kRestrictions);
    if (list == nullptr) list = &root_.set(kRestrictions, Value::array());
    if (!list->is_array()) return;
    const Value::Array& items = list->items();
    if (std::find(items.begin(), items.end(), Value(key)) != items.end()) continue;
    list->push_back(key).set_origin({.note = "experiment " + key});
  }
}

void Resolution::fill() {
  const Value* by_type = root_.find("defaults");
  const Value none;
  DefaultsFiller(tree_, by_type != nullptr ? *by_type : none, diagnostics_).fill(root_);
}

void Resolution::resolve() {
  given_ = root_;
  fill();
  referring_ = root_;
  const std::vector<Origin> failed =
      resolve_references(root_, {"sweep", "defaults", "base"}, diagnostics_);
  fill();
  Diagnostics found;
  const std::exception_ptr refused = check(found);
  for (const Diagnostic& problem : found.list()) {
    // A failed reference has been reported; a type error of its text would be noise.
    if (std::find(failed.begin(), failed.end(), problem.where) == failed.end()) {
      diagnostics_.add(problem);
    }
  }
  keep_distinct();
  if (diagnostics_.empty() && refused != nullptr) std::rethrow_exception(refused);
}

// An error in [defaults] is reported once, not for every table that it fills.
void Resolution::keep_distinct() {
  std::set<std::tuple<std::string, int, int, std::string>> seen;
  Diagnostics distinct;
  for (const Diagnostic& problem : diagnostics_.list()) {
    const Origin& where = problem.where;
    const auto key = std::tuple(where.file, where.line, where.column, problem.what);
    if (where.line == 0 || seen.insert(key).second) distinct.add(problem);
  }
  diagnostics_ = std::move(distinct);
}

// Throws the error of an unusable plugin, if any.
std::exception_ptr Resolution::check(Diagnostics& found) {
  refuse_zero_bytes(root_, {}, found);
  check_defaults(found);
  check_backend(found);
  validate(root_, *schema_, &tree_.lookup(), found);
  RuleChecker rules(tree_, catalog_, found);
  rules.check_tree(root_);
  check_backend_rules(rules);
  if (is_run()) check_experiment(rules, found);
  const Value* xp = root_.find("xp");
  if (xp != nullptr && schema_ != &config_file_schema()) {
    check_rules<launch::Experiment>(*xp, "xp", found);
  }
  return rules.refused();
}

// Checks the whole config: the rules of ExperimentConfig and the restrictions of the experiments
// from which it starts, now or when it was written to config.toml.
void Resolution::check_experiment(RuleChecker& rules, Diagnostics& found) {
  const Value plain = experiment_part(root_);
  const std::size_t before = found.list().size();
  experiment_ = try_decode<ExperimentConfig>(plain, {}, found);
  // Of a mesh that has passed its own rules.
  const bool is_valid = experiment_ && found.list().size() == before;
  if (is_valid) check_mesh_axes(root_, tree_, experiment_->mesh, found);
  const Value* restrictions = root_.find(kRestrictions);
  if (restrictions != nullptr) rules.check_restrictions(*restrictions, kRestrictions, plain);
}

// A copy of the fields without the requirements of complete tables.
std::vector<Field> relaxed(std::vector<Field> fields) {
  for (Field& field : fields) {
    field.required = false;
    field.type.fields = relaxed(std::move(field.type.fields));
  }
  return fields;
}

void Resolution::check_defaults(Diagnostics& found) {
  const Value* defaults = root_.find("defaults");
  if (defaults == nullptr || !defaults->is_table()) return;
  for (const Value::Member& member : defaults->members()) {
    const std::string path = joined_path("defaults", member.key);
    const std::vector<std::string> kinds = catalog_.kinds_of(member.key);
    if (kinds.empty()) {
      std::vector<std::string> known;
      for (const std::string& kind : catalog_.kinds_of({})) {
        for (std::string& key : catalog_.keys(kind)) known.push_back(std::move(key));
      }
      found.add({member.key_origin, path, "unknown type '" + member.key + "'",
                 suggestion(member.key, known)});
    }
    for (const std::string& kind : kinds) {
      const Schema* schema = tree_.schema(kind, member.key);
      if (schema == nullptr) continue;
      validate(member.value, {schema->name, relaxed(schema->fields)}, nullptr, found,
               {.path = path});
    }
  }
}

void Resolution::check_backend(Diagnostics& found) {
  const Value* name = root_.find_path("runtime.backend");
  if (name != nullptr && name->is_string()) {
    tree_.lookup().find("backend", name->as_string(), name->origin(), "runtime.backend", found);
  }
  const Value* options = root_.find("backend");
  if (options == nullptr || !options->is_table()) return;
  for (const Value::Member& member : options->members()) {
    const std::string path = joined_path("backend", member.key);
    const Schema* schema =
        tree_.lookup().find("backend", member.key, member.key_origin, path, found);
    // A backend without a list of options checks them when it is opened.
    if (schema == nullptr || schema->fields.empty()) continue;
    validate(member.value, *schema, &tree_.lookup(), found, {.path = path});
  }
}

// Only for the selected backend: the other backends with options are not used.
void Resolution::check_backend_rules(RuleChecker& rules) {
  const Value* name = root_.find_path("runtime.backend");
  const Value* options = root_.find("backend");
  if (name == nullptr || !name->is_string() || options == nullptr || !options->is_table()) return;
  const Value* own = options->find(name->as_string());
  if (own == nullptr || !own->is_table()) return;
  rules.check_table(*own, "backend", name->as_string(), joined_path("backend", name->as_string()));
}

}  // namespace

namespace {

ResolvedConfig run_config(Resolution& resolution, Value tree) {
  ResolvedConfig config;
  config.tree = std::move(tree);
  config.referring = resolution.take_referring();
  take(config.referring, "sweep");
  config.given = resolution.take_given();
  take(config.given, "sweep");
  config.from_files = resolution.take_from_files();
  take(config.from_files, "sweep");
  config.sweeps = take(config.tree, "sweep");
  take(config.tree, "defaults");
  config.experiment = resolution.take_decoded();
  const Value* backends = config.tree.find("backend");
  const Value* options =
      backends != nullptr ? backends->find(config.experiment.runtime.backend) : nullptr;
  config.backend_options = options != nullptr ? *options : Value::table();
  return config;
}

}  // namespace

ResolvedConfig resolve_config(const ConfigRequest& request, ConfigCatalog& catalog) {
  Diagnostics diagnostics;
  Resolution resolution(request, catalog, diagnostics);
  resolution.merge_layers(load_layers(request.files, request, diagnostics));
  resolution.resolve();
  throw_if_any(diagnostics);
  return run_config(resolution, resolution.take_root());
}

ResolvedLaunch resolve_launch(const ConfigRequest& request, ConfigCatalog& catalog) {
  Diagnostics diagnostics;
  std::vector<Value> layers = load_layers(request.files, request, diagnostics);
  const bool with_run =
      !request.experiment.empty() || std::any_of(layers.begin(), layers.end(), has_run);
  if (with_run && !request.below_run.empty()) {
    std::vector<Value> below = load_layers({request.below_run}, request, diagnostics);
    layers.insert(layers.begin(), std::make_move_iterator(below.begin()),
                  std::make_move_iterator(below.end()));
  }
  Resolution resolution(request, catalog, diagnostics,
                        with_run ? launch_file_schema() : plain_launch_schema());
  resolution.merge_layers(std::move(layers));
  resolution.resolve();
  throw_if_any(diagnostics);
  ResolvedLaunch launch;
  Value root = resolution.take_root();
  launch.xp = take(root, "xp");
  launch.experiment = decode<launch::Experiment>(launch.xp, "xp");
  if (const Value* sweeps = root.find("sweep")) launch.sweeps = *sweeps;
  if (with_run) launch.run = run_config(resolution, std::move(root));
  return launch;
}

Value draft_config(const ConfigRequest& request, ConfigCatalog& catalog, Diagnostics& diagnostics) {
  Resolution resolution(request, catalog, diagnostics);
  resolution.merge_layers(load_layers(request.files, request, diagnostics));
  resolution.fill();
  return resolution.take_root();
}

Value written_tree(const ResolvedConfig& config) {
  Value tree = config.tree;
  escape_references(tree);
  return tree;
}

std::string config_text(const ResolvedConfig& config, const ConfigTextOptions& options) {
  return write_toml(written_tree(config), {.origins = options.origins, .header = options.header});
}

std::string run_config_text(const ResolvedConfig& config, const std::string& header) {
  return write_toml(config.referring, {.header = header, .meanings = &config.tree});
}

Value without_references(Value tree) {
  Diagnostics ignored;  // an invalid reference stays
  tree.erase("defaults");
  resolve_references(tree, {}, ignored);
  return tree;
}

Value read_run_config(const std::filesystem::path& file) {
  return without_references(read_toml_file(file));
}

Value plain_config(const ResolvedConfig& config) {
  return without_references(config.referring);
}

}  // namespace trivet

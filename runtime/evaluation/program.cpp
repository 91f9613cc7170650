// SPDX-License-Identifier: Apache-2.0
#include "evaluation/program.h"

#include <string>
#include <utility>

#include "evaluation/run_decode.h"
#include "evaluation/run_eval.h"
#include "evaluation/run_infer.h"
#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

// The task's implementation of an interface that a program needs.
template <class Interface>
const Interface& extension_of(const Task& task, std::string_view id, std::string path,
                              const char* field, const char* ability) {
  const void* found = task.extension(id);
  if (found != nullptr) return *static_cast<const Interface*>(found);
  const RegistryItem* const item = item_of(task);
  throw ConfigError(Diagnostic{
      .path = std::move(path) + field,
      .what = "the task " + (item != nullptr ? item->key : task.name()) + " " + ability});
}

}  // namespace

std::unique_ptr<Program> make_program(Task& task, const EvalInputConfig* set,
                                      const std::string& path, const ProgramOptions& options) {
  const auto predictor = [&](const char* field) {
    return &extension_of<Predictor>(task, kTaskPredictor, path, field,
                                    "gives no predictions of single examples");
  };
  if (set == nullptr) return std::make_unique<RunEval>(task, options.shards, options.processes);
  switch (set->program) {
    case EvalProgram::decode:
      return std::make_unique<RunDecode>(
          task,
          extension_of<BatchDecoder>(task, kTaskBatchDecoder, path, ".program",
                                     "writes no texts: it cannot decode"),
          *set, options.seed);
    case EvalProgram::infer:
      return std::make_unique<RunInfer>(task, *predictor(".program"));
    case EvalProgram::eval:
      break;
  }
  if (!set->outputs) return std::make_unique<RunEval>(task, options.shards, options.processes);
  // Outputs are written in the order of examples, so that each process runs all shards.
  return std::make_unique<RunEval>(task, ShardRange::all(options.shards.total), nullptr,
                                   predictor(".outputs"));
}

}  // namespace trivet

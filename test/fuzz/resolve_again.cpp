// SPDX-License-Identifier: Apache-2.0
#include "resolve_again.h"

#include <fstream>
#include <stdexcept>

#include "fuzz_target.h"
#include "trivet/error.h"

namespace trivet::test {
namespace {

ResolvedConfig resolved_again(const ResolvedConfig& first, ConfigCatalog& catalog,
                              const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary);
  if (!(out << config_text(first)).flush()) throw std::runtime_error("cannot write");
  return resolve_config({.files = {file}}, catalog);
}

}  // namespace

bool resolves(const ConfigRequest& request, ConfigCatalog& catalog,
              const std::filesystem::path& again) {
  try {
    Diagnostics diagnostics;
    draft_config(request, catalog, diagnostics);  // as completion and `explain` do
  } catch (const ConfigError&) {
    // The text is not TOML; resolving it reports this again.
  }
  ResolvedConfig first;
  try {
    first = resolve_config(request, catalog);
  } catch (const ConfigError& refused) {
    promise(!refused.diagnostics().empty(), "a config is refused without a problem");
    for (const Diagnostic& problem : refused.diagnostics()) {
      promise(!problem.what.empty(), "a problem of a config has no text");
    }
    return false;
  } catch (const PluginError&) {
    return false;  // of demo/Refused
  }
  try {
    const ResolvedConfig second = resolved_again(first, catalog, again);
    promise(second.tree == first.tree, "a written config resolves to another tree");
  } catch (const Error& failure) {
    throw std::logic_error(std::string("a written config is refused: ") + failure.what());
  }
  return true;
}

}  // namespace trivet::test

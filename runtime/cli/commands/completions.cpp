// SPDX-License-Identifier: Apache-2.0
// trivet completions bash|zsh: scripts for the shells. The scripts call the program (complete.cpp),
// so they need no update when commands, options or plugins change.
#include <string>

#include "base/terminal.h"
#include "cli/command_info.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// bash splits words at '=', so the script replaces only the text after the last '='.
constexpr const char* kBash =
    R"SCRIPT(# trivet completions for bash:  eval "$(trivet completions bash)"
_trivet() {
  local line="${COMP_LINE:0:COMP_POINT}" words current cut candidate
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  current="${words[${#words[@]}-1]}"
  cut="${current%"${current##*=}"}"
  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ "$candidate" == ":files" ]]; then
      compopt -o default
    else
      COMPREPLY+=("${candidate#"$cut"}")
    fi
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[.=] ]]; then compopt -o nospace; fi
}
complete -F _trivet trivet
)SCRIPT";

constexpr const char* kZsh = R"SCRIPT(#compdef trivet
# trivet completions for zsh:  eval "$(trivet completions zsh)"
_trivet() {
  local -a candidates
  candidates=("${(@f)$(${words[1]} __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "${candidates[1]}" == ":files" ]]; then
    _files
  else
    compadd -S '' -- "${candidates[@]}"
  fi
}
compdef _trivet trivet
)SCRIPT";

int run_completions(std::span<const std::string> words) {
  const std::vector<std::string> shells = parse_arguments(words, {}).plain();
  if (shells.size() != 1) throw UsageError("name one shell: bash or zsh");
  if (shells[0] == "bash") {
    print_out(kBash);
  } else if (shells[0] == "zsh") {
    print_out(kZsh);
  } else {
    throw UsageError("no completions exist for '" + shells[0] + "'", {.hint = "known: bash, zsh"});
  }
  return 0;
}

}  // namespace

extern const CommandInfo kCompletionsCommand{
    .name = "completions",
    .usage = "completions bash|zsh",
    .summary = "Prints the script that lets a shell complete commands, keys and config paths",
    .details =
        "  eval \"$(trivet completions bash)\"      in ~/.bashrc\n"
        "  eval \"$(trivet completions zsh)\"       in ~/.zshrc, after compinit",
    .options = {},
    .operand = Operand::shell,
    .run = run_completions,
};

}  // namespace trivet

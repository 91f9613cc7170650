// SPDX-License-Identifier: Apache-2.0
// Replaces _exit and exec of libc. They end a process without calling handlers, so a plugin could
// end a run with any exit code. While a CrashReport exists they are reported like exit and end with
// the exit code of a plugin at fault; otherwise, and in forked processes, they behave as usual.
// Only part of the program: libraries find the program's symbols before those of libc.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>

#include "base/process_end.h"
#include "host/crash_report.h"

namespace {

using Arguments = char* const*;

// Looked up at the start: between fork and exec nothing may be.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
const auto next_execve = next<int(const char*, Arguments, Arguments)>("execve");
const auto next_execvpe = next<int(const char*, Arguments, Arguments)>("execvpe");
const auto next_fexecve = next<int(int, Arguments, Arguments)>("fexecve");

// Arguments of execl and similar functions: the list ends with a null.
std::size_t count_of(std::va_list list) {
  std::size_t count = 1;
  while (va_arg(list, char*) != nullptr) ++count;
  return count;
}

}  // namespace

#define TRIVET_WAY_OUT extern "C" __attribute__((visibility("default")))

TRIVET_WAY_OUT void _exit(int code) {
  trivet::refuse_to_end();
  trivet::end_process(code);
}

TRIVET_WAY_OUT void _Exit(int code) noexcept {
  trivet::refuse_to_end();
  trivet::end_process(code);
}

TRIVET_WAY_OUT int execve(const char* path, Arguments argv, Arguments variables) noexcept {
  trivet::refuse_to_end();
  return next_execve(path, argv, variables);
}

TRIVET_WAY_OUT int execv(const char* path, Arguments argv) noexcept {
  trivet::refuse_to_end();
  return next_execve(path, argv, environ);
}

TRIVET_WAY_OUT int execvpe(const char* file, Arguments argv, Arguments variables) noexcept {
  trivet::refuse_to_end();
  return next_execvpe(file, argv, variables);
}

TRIVET_WAY_OUT int execvp(const char* file, Arguments argv) noexcept {
  trivet::refuse_to_end();
  return next_execvpe(file, argv, environ);
}

TRIVET_WAY_OUT int fexecve(int file, Arguments argv, Arguments variables) noexcept {
  trivet::refuse_to_end();
  return next_fexecve(file, argv, variables);
}

// A list as the array that the others take; memory is the stack's, for the sake of forked
// processes.
#define TRIVET_TAKE_LIST(argv, first)                                               \
  std::va_list list;                                                                \
  va_start(list, first);                                                            \
  const std::size_t count = count_of(list) + 1;                                     \
  va_end(list);                                                                     \
  auto** const argv = static_cast<char**>(__builtin_alloca(count * sizeof(char*))); \
  argv[0] = const_cast<char*>(first);                                               \
  va_start(list, first);                                                            \
  for (std::size_t i = 1; i < count; ++i) argv[i] = va_arg(list, char*)

TRIVET_WAY_OUT int execl(const char* path, const char* first, ...) noexcept {
  trivet::refuse_to_end();
  TRIVET_TAKE_LIST(argv, first);
  va_end(list);
  return next_execve(path, argv, environ);
}

TRIVET_WAY_OUT int execlp(const char* file, const char* first, ...) noexcept {
  trivet::refuse_to_end();
  TRIVET_TAKE_LIST(argv, first);
  va_end(list);
  return next_execvpe(file, argv, environ);
}

TRIVET_WAY_OUT int execle(const char* path, const char* first, ...) noexcept {
  trivet::refuse_to_end();
  TRIVET_TAKE_LIST(argv, first);
  Arguments variables = va_arg(list, Arguments);
  va_end(list);
  return next_execve(path, argv, variables);
}

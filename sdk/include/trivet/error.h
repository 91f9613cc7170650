// SPDX-License-Identifier: Apache-2.0
// The errors of trivet. Libraries and plugins throw them; only `main` prints.
//
// An Error says what happened, where (a location in a file, a dotted config path, a plugin) and
// what to do about it. The subclass decides the exit code of the program:
//
//   Error, RunError, InputError   1   the run failed
//   UsageError, ConfigError       2   wrong command line or config: a retry never helps
//   PluginError                   3   a plugin cannot be loaded or misbehaved
//
// Example (sdk/examples/snippets/errors.cpp#throw):
//
//   throw InputError("labels.gz: magic number 2049 expected, found 2051",
//                    {.hint = "this looks like an image file"});
//
// Key functions live in libtrivet.so, so a class thrown in one library is caught by type in
// another.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

// Where a value came from: a location in a file, or the text of an override or a flag in `note`.
struct Origin {
  std::string file{};
  int line = 0;  // counted from 1; 0 means unknown
  int column = 0;
  std::string note{};

  bool known() const noexcept { return !file.empty() || !note.empty(); }
  friend bool operator==(const Origin&, const Origin&) = default;
};

// "file:line:column", shortened to what is known; a note follows in parentheses or stands alone.
TRIVET_API std::string to_string(const Origin& origin);

// One finding in a config. Many are collected and reported together in a ConfigError.
struct Diagnostic {
  Origin where{};
  std::string path{};  // dotted: "task.model.layers[2].dims"
  std::string what{};
  std::string hint{};
};

TRIVET_API std::string to_string(const Diagnostic& problem);

// What an Error knows besides its message; every part may be empty.
struct ErrorDetails {
  Origin where{};
  std::string path{};    // config path of the object concerned
  std::string plugin{};  // name of the plugin at fault
  std::string key{};     // "plugin/Name" of the item at fault
  std::string hint{};    // what to do about it
};

class TRIVET_API Error : public std::runtime_error {
 public:
  explicit Error(std::string message, ErrorDetails details = {});
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error() override;

  // Everything in one text: location, path, message, hint, plugin.
  const char* what() const noexcept override;

  const std::string& message() const noexcept { return message_; }
  const ErrorDetails& details() const noexcept { return details_; }
  const Origin& where() const noexcept { return details_.where; }
  const std::string& path() const noexcept { return details_.path; }
  const std::string& plugin() const noexcept { return details_.plugin; }
  const std::string& key() const noexcept { return details_.key; }
  const std::string& hint() const noexcept { return details_.hint; }

  // Fills in the details that are still empty. The innermost caller knows best, so it wins.
  void amend(const ErrorDetails& details);

  // Of the program that ends by this error. [any-thread]
  virtual int exit_code() const noexcept;

 protected:
  // For classes that keep more than a message: replaces the first part of the text.
  void set_message(std::string message);

 private:
  void compose();

  std::string message_;
  ErrorDetails details_;
  std::string text_;
};

// One or many mistakes in a config, ordered by their location.
class TRIVET_API ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics);
  explicit ConfigError(Diagnostic problem);
  ConfigError(const ConfigError&);
  ~ConfigError() override;

  const std::vector<Diagnostic>& diagnostics() const noexcept { return diagnostics_; }
  int exit_code() const noexcept override;

 private:
  std::vector<Diagnostic> diagnostics_;
};

// A plugin cannot be loaded, or threw something that is not an Error.
class TRIVET_API PluginError : public Error {
 public:
  using Error::Error;
  PluginError(const PluginError&);
  ~PluginError() override;
  int exit_code() const noexcept override;
};

// A wrong command line.
class TRIVET_API UsageError : public Error {
 public:
  using Error::Error;
  UsageError(const UsageError&);
  ~UsageError() override;
  int exit_code() const noexcept override;
};

// The run itself failed: a loss that is not finite, a full disk.
class TRIVET_API RunError : public Error {
 public:
  using Error::Error;
  RunError(const RunError&);
  ~RunError() override;
};

// Data that cannot be read or is not what it says; names file and record.
class TRIVET_API InputError : public RunError {
 public:
  using RunError::RunError;
  InputError(const InputError&);
  ~InputError() override;
};

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// SubdirFormat: names the directories of experiments and work units.
//
//   [xp.subdir_format]
//   xp_dirname = "{xid}-{name}"
//   wu_dirname = "{wid}{separator_if_sweep}{sweep_kwargs}"
//
// Placeholders may carry a format as in Python: {unpadded_wid:04}, {name:>12}; "{{" and "}}" are
// braces.
//
//   {xid}                 number of the experiment
//   {name} {title}        its name
//   {author} {user}       who launched it
//   {cell}                of the main job; an error when it has none
//   {wid}                 number of the unit, padded to the digits of the number of units: 003
//   {unpadded_wid}        the same without padding
//   {sweep_kwargs}        "batch_size=32,seed=0": what the sweep changes, '/' and the like left
//                         out and '[' written as '(', at most 127 bytes: then cut, with a hash
//   {separator_if_sweep}  "-" in a sweep, else nothing
//   {repeat}              which of xp.repeats it is: 1, 2, ...
//
// The last five are known in wu_dirname only. A plugin adds placeholders by a class of its own.
//
// Example (sdk/examples/snippets/subdir_format.cpp#class):
//
//   class DatedDirs : public trivet::launch::SubdirFormat {
//    public:
//     using SubdirFormat::SubdirFormat;
//     std::vector<std::string> own_placeholders() const override { return {"date"}; }
//     Value own_placeholder(std::string_view, const DirProperties&) const override {
//       return "2026-11-21";
//     }
//   };
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/launch/sweep_info.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"

namespace trivet::launch {

struct SubdirFormatConfig {
  std::string xp_dirname = "{xid}";
  std::string wu_dirname = "{wid}";
};
TRIVET_CONFIG(SubdirFormatConfig, trivet::NoBase,
              (xp_dirname, "Directory of the experiment, below root_dir."),
              (wu_dirname, "Directories of the work units, below it."))

// The values of placeholders.
struct DirProperties {
  std::int64_t xid = 0;
  std::string name;
  std::string author;
  std::string cell;
  // Of the unit; 0 and empty where the directory is the experiment's.
  std::int64_t wid = 0;
  std::int64_t units = 0;   // how many the experiment has, this launch included
  std::int64_t repeat = 1;  // which of xp.repeats
  SweepItem sweep;
};

class TRIVET_API SubdirFormat : public Object {
 public:
  static constexpr std::string_view kKind = "subdir";
  using Config = SubdirFormatConfig;
  using Context = NoContext;

  explicit SubdirFormat(Config config = {}) : config_(std::move(config)) {}
  ~SubdirFormat() override;
  const Config& config() const { return config_; }

  // `text` with its placeholders filled in. Throws Error for one that is unknown, with those that
  // are known, or that has no value.
  std::string expand(std::string_view text, const DirProperties& properties) const;

  // Names beside the built-in ones, which they must not repeat. Default: none. [main-thread]
  virtual std::vector<std::string> own_placeholders() const;
  // The value of one of own_placeholders(). [main-thread]
  virtual Value own_placeholder(std::string_view name, const DirProperties& properties) const;
  // For placeholders of which the part after the colon is no format: {file:NAME}. Null: not one,
  // as by default. [main-thread]
  virtual Value with_format(std::string_view name, std::string_view format) const;

 private:
  Config config_;
};

// The value of {sweep_kwargs}.
TRIVET_API std::string sweep_kwargs(const SweepItem& sweep);

}  // namespace trivet::launch

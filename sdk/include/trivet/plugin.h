// SPDX-License-Identifier: Apache-2.0
// TRIVET_PLUGIN: the one statement that makes a library a plugin. It stands once, in one source
// file, outside any namespace.
//
// Example (sdk/examples/snippets/acme.cpp#plugin):
//
//   #include <trivet/layer.h>
//   #include <trivet/ops.h>
//   #include <trivet/plugin.h>
//
//   namespace acme {
//
//   struct ScaleConfig : trivet::LayerConfig {
//     double factor = 1.0;
//   };
//   TRIVET_CONFIG(ScaleConfig, trivet::LayerConfig, (factor, "Factor of the input."))
//
//   class Scale final : public trivet::Layer {
//    public:
//     using Config = ScaleConfig;
//
//     Scale(const Config& config, trivet::Scope&) : factor_(static_cast<float>(config.factor)) {}
//
//     trivet::Tensor fprop(const trivet::Tensor& x, trivet::FpropContext&) override {
//       return trivet::ops::mul(x, factor_);
//     }
//
//    private:
//     float factor_;
//   };
//
//   }  // namespace acme
//
//   TRIVET_PLUGIN(({.name = "acme", .version = "1.0.0", .license = "MIT", .doc = "Odds, ends."}),
//                 trivet::layer<acme::Scale>("Scale", "Multiplies by a constant."))
//
// A config names the layer as "acme/Scale". From the list the compiler writes
//   - an ELF note with the plugin's identity, its ABI and the full schema of each item, which the
//     host reads without running any code,
//   - the data symbol `trivet_plugin_entry_v1`, whose function registers the same items, whole or
//     not at all.
// There are no static initializers and no other exported symbol, and the two cannot disagree.
//
// Link with the flags that pkg-config hands out (hidden visibility, version script, -z nodelete, -z
// defs).
//
// Items:
//   trivet::layer<T>("Name", "doc")       and so on for every kind below: T::Config is its
//                                         config struct
//   trivet::schedule<T>("Constant", "doc", trivet::scalar_shorthand("value"))
//                                         a bare number in a config selects this item
//   trivet::backend<&function>("Name", "doc")
//   trivet::backend<&function, Options>("Name", "doc")
//                                         `const tv_backend* function(void)` gives the table of
//                                         backend.h
//   trivet::collective<&function>("Name", "doc")
//                                         the same with the tv_collective of collective.h
//   trivet::experiment<&function>("name", "doc")
//                                         `ExperimentConfig function()` is called when a config
//                                         asks for it
//   trivet::experiment<&function, &restrictions>("name", "doc")
//                                         and restrictions on what is made of it, see experiment.h
#pragma once

#include "trivet/plugin/detail/plugin_note.h"

namespace trivet {

class Task;
class Input;
class Layer;
class Model;
class Optimizer;
class Schedule;
class Metric;
class TextMetric;
class Tokenizer;
class DataSource;
class Trainer;
class Action;
class SummaryWriter;
class Command;
namespace launch {
class Orchestrator;
class SweepInfo;
class JobsProvider;
class SubdirFormat;
}  // namespace launch
namespace search {
class Sampler;
class Stopper;
}  // namespace search

// A kind of object is its base class and this line.
#define TRIVET_KIND_(name, Base)                                                                  \
  template <class T, class... Attribute>                                                          \
  constexpr auto name(std::string_view item_name, std::string_view doc, Attribute... attribute) { \
    return detail::with_text(detail::ClassItem<Base, T>{}, item_name, doc, attribute...);         \
  }
TRIVET_KIND_(task, Task)
TRIVET_KIND_(input, Input)
TRIVET_KIND_(layer, Layer)
TRIVET_KIND_(model, Model)
TRIVET_KIND_(optimizer, Optimizer)
TRIVET_KIND_(schedule, Schedule)
TRIVET_KIND_(metric, Metric)
TRIVET_KIND_(text_metric, TextMetric)
TRIVET_KIND_(tokenizer, Tokenizer)
TRIVET_KIND_(data_source, DataSource)
TRIVET_KIND_(trainer, Trainer)
TRIVET_KIND_(action, Action)
TRIVET_KIND_(orchestrator, launch::Orchestrator)
TRIVET_KIND_(sweep, launch::SweepInfo)
TRIVET_KIND_(jobs, launch::JobsProvider)
TRIVET_KIND_(subdir, launch::SubdirFormat)
TRIVET_KIND_(sampler, search::Sampler)
TRIVET_KIND_(stopper, search::Stopper)
TRIVET_KIND_(summary_writer, SummaryWriter)
TRIVET_KIND_(command, Command)
#undef TRIVET_KIND_

// Tables of C functions: the door for vendors that build with other tools.
template <auto* Function, class Options = detail::NoConfig>
constexpr auto backend(std::string_view name, std::string_view doc) {
  return detail::with_text(detail::TableItem<Function, Options>{{}, "backend"}, name, doc);
}
template <auto* Function>
constexpr auto collective(std::string_view name, std::string_view doc) {
  return detail::with_text(detail::TableItem<Function, detail::NoConfig>{{}, "collective"}, name,
                           doc);
}

template <auto* Function, auto Restrictions = nullptr>
constexpr auto experiment(std::string_view name, std::string_view doc) {
  return detail::with_text(detail::ExperimentItem<Function, Restrictions>{}, name, doc);
}

}  // namespace trivet

#define TRIVET_UNWRAP_(...) __VA_ARGS__
#define TRIVET_PLUGIN(about, ...)                                                                 \
  namespace {                                                                                     \
  constexpr ::trivet::About trivet_about_ TRIVET_UNWRAP_ about;                                   \
  constexpr auto trivet_items_ = ::std::make_tuple(__VA_ARGS__);                                  \
  static_assert(::trivet::detail::is_plugin_name(trivet_about_.name),                             \
                "TRIVET_PLUGIN: a name has up to 100 lower case letters, digits, '_' and '-'");   \
  static_assert(!trivet_about_.version.empty() && !trivet_about_.license.empty(),                 \
                "TRIVET_PLUGIN: version and license are mandatory");                              \
  static_assert(::trivet::detail::have_good_names(trivet_items_),                                 \
                "TRIVET_PLUGIN: the name of an item has up to 100 letters, digits, '_' and '-'"); \
  static_assert(::trivet::detail::have_distinct_keys(trivet_items_),                              \
                "TRIVET_PLUGIN: two items of one kind have the same name");                       \
  constexpr ::std::size_t trivet_note_size_ =                                                     \
      ::trivet::detail::note_size(trivet_about_, trivet_items_);                                  \
  int trivet_init_(const trivet_host_v1* host, char* error, ::std::size_t error_size) {           \
    return ::trivet::detail::run_init(host, error, error_size, trivet_about_, trivet_items_);     \
  }                                                                                               \
  }                                                                                               \
  extern "C" {                                                                                    \
  extern TRIVET_API const ::trivet::detail::Note<trivet_note_size_> trivet_plugin_note_v1;        \
  __attribute__((section(".note.trivet"), used,                                                   \
                 aligned(4))) constinit const ::trivet::detail::Note<trivet_note_size_>           \
      trivet_plugin_note_v1 =                                                                     \
          ::trivet::detail::make_note<trivet_note_size_>(trivet_about_, trivet_items_);           \
  extern TRIVET_API const trivet_entry_v1 trivet_plugin_entry_v1;                                 \
  __attribute__((used)) constinit const trivet_entry_v1 trivet_plugin_entry_v1 = {                \
      TRIVET_ENTRY_MAGIC, sizeof(trivet_entry_v1), TRIVET_SDK_MAJOR,                              \
      TRIVET_SDK_MINOR,   TRIVET_ABI_TAG,          trivet_init_};                                 \
  }

// SPDX-License-Identifier: Apache-2.0
// Schema: what TRIVET_CONFIG says about a config struct, as data. It reaches the host in the note
// of a plugin's file, before any code of the plugin runs; validation, documentation and completion
// work on it, and on nothing else.
//
// Example (sdk/examples/snippets/schema.cpp#validate):
//
//   Diagnostics problems;
//   validate(value, schema_of<TrainerConfig>(), &lookup, problems, {.path = "trainer"});
//   problems.throw_if_any();  // one ConfigError with all of them
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config/value.h"
#include "trivet/error.h"

namespace trivet {

struct Field;

// The type of a field or of the elements of a list or map.
struct TRIVET_API FieldType {
  enum class Form {
    boolean,
    integer,
    floating,
    string,
    path,      // a file or folder; text in a file
    quantity,  // a number, or a text with a unit: "1h30m", "16GiB"; see quantity.h
    choice,    // one of `choices`
    list,      // of element[0]
    map,       // text to element[0]
    table,     // a nested struct with `fields`
    config,    // ConfigOf a kind: {type = "plugin/Name", ...} or just "plugin/Name"
    value,     // a free table or value: anything goes
  };

  FieldType();
  FieldType(const FieldType&);
  FieldType(FieldType&&) noexcept;
  FieldType& operator=(const FieldType&);
  FieldType& operator=(FieldType&&) noexcept;
  ~FieldType();

  Form form = Form::value;
  bool optional = false;  // std::optional: may be absent without having a default
  bool single = false;    // a number stored in 32 bits
  std::int64_t lowest = std::numeric_limits<std::int64_t>::min();  // what the C++ integer holds
  std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  std::string quantity;              // of a quantity: "duration"
  std::string kind;                  // of a config: "layer"
  std::string struct_name;           // of a table
  std::vector<std::string> choices;  // of a choice, or the allowed texts
  std::vector<FieldType> element;    // one entry for a list or map
  std::vector<Field> fields;         // of a table
};

TRIVET_API bool operator==(const FieldType& a, const FieldType& b);

// "integer", "list of layer", "optional number" ... for people.
TRIVET_API std::string to_string(const FieldType& type);

struct Field {
  std::string name;
  std::string doc;
  FieldType type;
  bool required = false;
  bool adjustable = false;             // may change when a run continues, see config.h
  bool names_metric = false;           // its text is the name of a metric, see config.h
  std::optional<Value> default_value;  // none: the compiler could not tell, ask the loaded plugin
  // Bounds of a number, duration or integer; of each element for a list or map.
  std::optional<double> low, high;
  bool low_open = false, high_open = false;  // the bound itself is not allowed
  std::vector<std::string> aliases;          // old names, still understood

  friend bool operator==(const Field&, const Field&) = default;
};

// ">= 1", "in [0, 1)", or empty.
TRIVET_API std::string range_text(const Field& field);

struct TRIVET_API Schema {
  std::string name;  // of the struct
  std::vector<Field> fields;

  const Field* find(std::string_view field) const noexcept;  // by name or alias
  friend bool operator==(const Schema&, const Schema&) = default;
};

// Collects mistakes. A config struct may have a member `void validate(Diagnostics&) const` for
// rules that concern several fields; it names a field of its own struct and the location is found.
//
// Example (sdk/examples/snippets/schema.cpp#rule):
//
//   void validate(trivet::Diagnostics& problems) const {
//     if (heads > 0 && dims % heads != 0) problems.add("dims", "must be a multiple of heads");
//   }
class TRIVET_API Diagnostics {
 public:
  void add(Diagnostic problem);
  // `field` may be a path below the table, "train_input.batch_size".
  void add(std::string_view field, std::string what, std::string hint = {});

  bool empty() const noexcept { return list_.empty(); }
  const std::vector<Diagnostic>& list() const noexcept { return list_; }
  void sort();          // by file, line and column; those without a location stay last
  void throw_if_any();  // sorted, as one ConfigError

  // While it lives, `add(field, ...)` speaks of the fields of `table`, which is at `path`. Both
  // must outlive it.
  class TRIVET_API Inside {
   public:
    Inside(Diagnostics& diagnostics, std::string path, const Value& table);
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside();

   private:
    Diagnostics& diagnostics_;
    std::string path_;
    const Value* table_;
  };

 private:
  std::vector<Diagnostic> list_;
  std::string path_;
  const Value* table_ = nullptr;
};

// The item that a bare number selects in a field of its kind: `learning_rate = 0.1` is {type = key,
// field = 0.1}.
struct ScalarShorthand {
  std::string key;
  std::string field;
};

// Where `validate` finds the schemas of "plugin/Name". The host's reads the notes of plugins.
class TRIVET_API SchemaLookup {
 public:
  virtual ~SchemaLookup();
  // The schema of an item. Null when there is none; then a problem that says why has been added,
  // with `where` and `path` as its location. The schema lives as long as the lookup. [any-thread]
  virtual const Schema* find(std::string_view kind, std::string_view key, const Origin& where,
                             const std::string& path, Diagnostics& diagnostics) = 0;
  // The item that a bare number selects, or nothing. Throws Error when more than one claims
  // numbers. [any-thread]
  virtual std::optional<ScalarShorthand> for_number(std::string_view kind) = 0;
};

// Checks a table against a schema and adds everything that is wrong: unknown keys (with the nearest
// names and the table they belong to), wrong types, values out of range, missing required fields.
// With a lookup, nested ConfigOf values are checked through and through, else only their form.
// `path` is the path of the table in the whole config; a null value is an empty table; the key
// `type` at the top is ignored when `allow_type` is set.
struct ValidateOptions {
  std::string path{};
  bool allow_type = false;
};
TRIVET_API void validate(const Value& config, const Schema& schema, SchemaLookup* lookup,
                         Diagnostics& diagnostics, const ValidateOptions& options = {});

// Adds what is missing and has a known default, at every depth, gives aliases their new names, and
// writes ConfigOf values as tables. `config` must be valid.
TRIVET_API void fill_defaults(Value& config, const Schema& schema, SchemaLookup* lookup);

// Reads the JSON that a plugin's note holds for one item. Throws Error for anything that is not
// such a text.
TRIVET_API Schema schema_from_json(std::string_view json);

// Fills unknown defaults from an encoded, default-constructed config.
TRIVET_API void complete_defaults(Schema& schema, const Value& defaults);

// How many letters must be inserted, deleted, replaced or swapped with a neighbor (optimal string
// alignment).
TRIVET_API std::size_t name_distance(std::string_view a, std::string_view b);
// The known names that somebody who typed `wanted` may have meant, nearest first, at most three: by
// distance, by the part after the last '.' or '/', and by upper and lower case.
TRIVET_API std::vector<std::string> nearest_names(std::string_view wanted,
                                                  const std::vector<std::string>& known);
// "did you mean 'a' or 'b'?", or "known: a, b, c" when nothing is near, or nothing when nothing is
// known.
TRIVET_API std::string suggestion(std::string_view wanted, const std::vector<std::string>& known);

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// The configs of text sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trivet/config/field_types.h"
#include "trivet/data_source.h"

namespace trivet::data {

// The unit of a text file that is one document. Line ends and blank lines between documents are not
// part of them.
enum class Documents {
  file,       // the whole file
  paragraph,  // text between blank lines
  line,       // every line that is not empty
};
TRIVET_ENUM(Documents, file, paragraph, line)

// The contents of text files. Files compressed with gzip or zstd are decompressed first, here and
// in the sources below.
enum class Encoding {
  utf8,   // text: refuses files with zero bytes or with over a tenth of invalid UTF-8
  bytes,  // any bytes
};
TRIVET_ENUM(Encoding, utf8, bytes)

// Examples with one feature, "text".
struct TextFilesConfig : DataSourceConfig {
  std::vector<Path> files;
  Documents documents = Documents::file;
  Encoding encoding = Encoding::utf8;
  double part_begin = 0;
  double part_end = 1;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(TextFilesConfig, DataSourceConfig,
              (files,
               "Text files (plain, gzip or zstd) and patterns (*, ?, [a-z]), read in the order of "
               "their names.",
               required),
              (documents, "Part of a file that is one document."),
              (encoding, "Whether files must be text, or may hold any bytes."),
              (part_begin, "Where reading starts in each file, as a share of its bytes.",
               between(0.0, 1.0)),
              (part_end,
               "Where reading ends in each file, as a share of its bytes. Example: 0 to 0.9 for "
               "training, 0.9 to 1 for evaluation.",
               between(0.0, 1.0)))

// The features of an example are the members of the JSON object: strings unchanged, numbers and
// booleans as JSON writes them. Null means missing; arrays and objects are dropped.
struct JsonlConfig : DataSourceConfig {
  std::vector<Path> files;
};
TRIVET_CONFIG(
    JsonlConfig, DataSourceConfig,
    (files, "Files of one JSON object a line, gzip or zstd or plain, and patterns (*, ?, [a-z]).",
     required))

// The features of an example are those of tf.Example: the first value of each, bytes unchanged,
// numbers in decimal.
struct TfRecordConfig : DataSourceConfig {
  std::vector<Path> files;
};
TRIVET_CONFIG(TfRecordConfig, DataSourceConfig,
              (files,
               "TFRecord files of tf.Example records, gzip or zstd or plain, and patterns (*, ?, "
               "[a-z]).",
               required))

// data/Mixture interleaves the examples of several sources, as SeqIO mixes tasks. The next example
// always comes from the source that is furthest behind its share, the first of equals. The order of
// an epoch is therefore known beforehand, and after any number of examples every source has had
// about its share.
struct MixtureItem {
  ConfigOf<DataSource> source;
  std::optional<double> rate;
  Map<std::string> features;
};
TRIVET_CONFIG(
    MixtureItem, trivet::NoBase, (source, "Where examples come from.", required),
    (rate, "Share of the source, in proportion to the other rates; unset: its number of examples.",
     more_than(0)),
    (features,
     "Features made of each example, such as { targets = \"{answer}\" }: names, and texts with "
     "names of features in braces; empty: examples stay as they are."))

// What to do when a source runs out of examples before the others.
enum class Exhausted {
  stop,       // ends the epoch: examples left in other sources are not used
  continue_,  // continues without it: every example is used once
  repeat,     // restarts it until every source has been used up: every example is used
};
TRIVET_ENUM(Exhausted, stop, continue_, repeat)

struct MixtureConfig : DataSourceConfig {
  std::vector<MixtureItem> sources;
  Exhausted exhausted = Exhausted::repeat;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(MixtureConfig, DataSourceConfig, (sources, "Sources to mix.", required),
              (exhausted, "Rule for a source that has no more examples before the others."))

}  // namespace trivet::data

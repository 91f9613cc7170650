// SPDX-License-Identifier: Apache-2.0
// The configs of the sources of text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trivet/config/field_types.h"
#include "trivet/data_source.h"

namespace trivet::data {

// What in a file of text is one document. Line ends and blank lines between documents belong to
// none of them.
enum class Documents {
  file,       // all of it
  paragraph,  // the lines between blank ones
  line,       // every line that is not empty
};
TRIVET_ENUM(Documents, file, paragraph, line)

// What files of text hold. Files that are compressed with gzip or zstd are decompressed first, here
// and in the sources below.
enum class Encoding {
  utf8,   // text: files with zero bytes, or of which more than a tenth is no UTF-8, are refused
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

// Examples whose features are the members of the objects: texts as they are, numbers and booleans
// as JSON writes them. Null counts as missing; arrays and objects have no text and are left out.
struct JsonlConfig : DataSourceConfig {
  std::vector<Path> files;
};
TRIVET_CONFIG(
    JsonlConfig, DataSourceConfig,
    (files, "Files of one JSON object a line, gzip or zstd or plain, and patterns (*, ?, [a-z]).",
     required))

// Examples whose features are those of tf.Example: the first value of each, bytes as they are,
// numbers in decimal.
struct TfRecordConfig : DataSourceConfig {
  std::vector<Path> files;
};
TRIVET_CONFIG(TfRecordConfig, DataSourceConfig,
              (files,
               "TFRecord files of tf.Example records, gzip or zstd or plain, and patterns (*, ?, "
               "[a-z]).",
               required))

// data/Mixture: examples of several sources in one sequence, as SeqIO mixes tasks. The next one is
// always of the source that is furthest behind its share, the first of equals, so what a pass has
// is known beforehand, and after any number of examples every source has had about its share.
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

// What happens when a source has no more examples before the others.
enum class Exhausted {
  stop,       // the pass ends: what the others have left is not used
  continue_,  // the others continue without it: every example is used once
  repeat,     // it starts over, until every source has been used up: none is left out
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

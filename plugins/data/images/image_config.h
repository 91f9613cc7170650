// SPDX-License-Identifier: Apache-2.0
// The configs of the data plugin's image and CSV inputs. Batches of images have
//
//   "image"   f32 [batch, example shape...]   (value * scale - mean) / std
//   "label"   i32 [batch]                     if there are labels; f32 [batch, classes] if they
//                                             have a share for each class, or images are mixed
//   "weight"  f32 [batch]                     1 for examples, 0 for padding
//
// In training, `augment` changes images at random, differently in every epoch
// (data/augmentation/augment_config.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/augmentation/augment_config.h"
#include "trivet/input.h"

namespace trivet::data {

struct DatasetConfig : InputConfig {
  std::optional<double> scale;
  std::vector<double> mean = {0.0};
  std::vector<double> std = {1.0};
  std::int64_t num_classes = 0;
  AugmentConfig augment;
};
TRIVET_CONFIG(
    DatasetConfig, trivet::InputConfig,
    (scale, "Factor of the pixels. Default: 1/255 for bytes, 1 for others."),
    (mean, "Mean to subtract from the scaled pixels: one number, or one per channel."),
    (std, "Divisor of the pixels after the mean is subtracted: one number, or one per channel.",
     more_than(0)),
    (num_classes, "Number of classes: labels must be lower. 0: any label. Mixed images need it.",
     at_least(0)),
    (augment, "Random changes of the images, in training only."))

// The config of an input of `images` and `labels` that reads `examples` in place of them, once and
// in order: InputContext::examples.
template <class Config>
Config config_for(Config config, const InputContext& context) {
  if (context.examples.empty()) return config;
  if (context.examples == "-") {
    throw InputError("images are read from a file, not from standard input");
  }
  config.images = context.examples;
  config.labels = Path();
  config.shuffle = config.drop_remainder = false;
  config.epochs = 1;
  return config;
}

struct IdxConfig : DatasetConfig {
  Path images;
  Path labels;
  std::int64_t channels = 0;
  Bytes limit = std::int64_t{4} << 30;
};
TRIVET_CONFIG(IdxConfig, DatasetConfig,
              (images, "IDX file of bytes, plain, gzip or zstd: [examples, height, width], ...",
               required),
              (labels, "IDX file of bytes, plain, gzip or zstd: [examples]; empty: no labels."),
              (channels,
               "Depth the images must have (a file of three axes has one); 0: whatever it has.",
               at_least(0)),
              (limit, "Most bytes a file may have when decompressed.", at_least(1)))

struct NpyConfig : DatasetConfig {
  Path images;
  Path labels;
  Bytes limit = std::int64_t{4} << 30;
};
TRIVET_CONFIG(
    NpyConfig, DatasetConfig,
    (images,
     "NumPy file, plain, gzip or zstd, examples along the first axis: f4, f8, u1, i4 or i8.",
     required),
    (labels,
     "NumPy file [examples] of u1, i4 or i8; or [examples, classes] of any type with "
     "the share of each class, or 0 and 1 for several labels. Empty: no labels."),
    (limit, "Most bytes a compressed file may have when decompressed.", at_least(1)))

struct SyntheticConfig : DatasetConfig {
  std::vector<std::int64_t> image_shape = {28, 28, 1};
  std::int64_t examples = 10000;
  double noise = 0.5;
  std::int64_t template_seed = 0;
  std::string split;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(SyntheticConfig, DatasetConfig,
              (image_shape, "Height, width and depth.", at_least(1), at_most(65536)),
              (examples, "Examples in one epoch.", at_least(1)),
              (noise, "Share of each value that is noise: 0 none, 1 nothing else.",
               between(0.0, 1.0)),
              (template_seed, "Seed of the classes' images; keep it equal in all inputs of a run."),
              (split,
               "Name of the split; each split has its own examples. Empty: train or eval, "
               "depending on the use."))

// Which rows of a file to read. A hash splits one file into training and evaluation rows.
enum class CsvPart {
  all,    // every row
  train,  // rows that are not for evaluation
  eval,   // about eval_share of the rows
};
TRIVET_ENUM(CsvPart, all, train, eval)

// data/Csv gives the fields that the task's encoder makes (trivet/extensions/table.h), or "numbers"
// f32 [batch, columns]; and "weight".
struct CsvConfig : InputConfig {
  Path file;
  std::string delimiter = ",";
  std::string decimal_mark = ".";
  bool trim = false;
  std::int64_t skip_lines = 0;
  bool header = true;
  std::vector<std::string> column_names;
  std::vector<std::string> missing = {"", "NA", "N/A", "NaN", "nan", "NULL", "null"};
  std::vector<std::string> drop_missing;
  CsvPart part = CsvPart::all;
  double eval_share = 0.2;
  std::string split_by;
  std::int64_t split_seed = 0;
  Bytes limit = std::int64_t{4} << 30;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    CsvConfig, trivet::InputConfig,
    (file, "Rows of text in UTF-8, one a line, gzip or zstd or plain; quotes as in RFC 4180.",
     required),
    (delimiter, "One character between cells, e.g. \";\" or \"\\t\"."),
    (decimal_mark, "Decimal mark of numbers.", choices(".", ",")),
    (trim, "Drops spaces and tabs around cells."),
    (skip_lines, "Number of lines to skip before the header.", at_least(0)),
    (header, "Whether the first row holds the names of the columns."),
    (column_names, "Names of all columns, instead of those of the header or where there is none."),
    (missing, "Cells with one of these texts have no value."),
    (drop_missing, "Columns in which a missing value drops the row."),
    (part, "Rows to read: all of them, or one side of a split of the file."),
    (eval_share, "Share of the rows that the split gives to evaluation.", more_than(0),
     less_than(1)),
    (split_by, "Column whose equal values stay on one side of the split. Empty: all columns."),
    (split_seed, "Seed of the split."),
    (limit, "Most bytes the file may have, decompressed.", at_least(1)))

}  // namespace trivet::data

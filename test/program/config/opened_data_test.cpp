// SPDX-License-Identifier: Apache-2.0
// Data of training and evaluations is opened before training: errors in it are config errors at the
// location of the field, and a run that cannot start leaves nothing behind.
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"

namespace opened_data_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A valid table, and its invalid replacements.
struct Tables {
  TempDir dir;
  fs::path good = dir.write("good.csv", "x,y\n1,2\n2,4\n3,6\n4,8\n");
  fs::path other = dir.write("other.csv", "x,z\n1,2\n2,4\n3,6\n4,8\n");
  fs::path binary = dir.write("binary.csv", std::string("\x1F\x8B\x00\x01\x02\xFF\xFE\x00", 8));
  fs::path missing = dir / "missing.csv";
  fs::path workdir = dir / "made/for/run";
  fs::path config = dir.write("c.toml", R"(
[task]
type = "tabular/Regression"
label = "y"
model = "tabular/Mlp"
train_input = { type = "data/Csv", file = ")" +
                                            good.string() + R"(", batch_size = 2 }
eval_input = { type = "data/Csv", file = ")" +
                                            good.string() + R"(", batch_size = 2 }
[trainer]
train_steps = 4
steps_per_loop = 2
checkpoint_interval = 2
learning_rate = 0.01
optimizer = "optim/Sgd"
[runtime]
threads = 1
)");
};

std::string word_of(const std::string& field, const fs::path& file) {
  return field + "=" + quoted(file.string()) + " ";
}

// Bytes, with their zeros.
template <std::size_t N>
std::string bytes(const char (&text)[N]) {
  return std::string(text, N - 1);
}

// A .npy file of bytes with a header of 70 bytes.
std::string npy(const std::string& shape, const std::string& elements) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(69, ' ');
  return bytes("\x93NUMPY\1\0\x46\0") + header + "\n" + elements;
}

// An input of images with two classes.
std::string image_input(const std::string& type, const fs::path& images, const fs::path& labels) {
  return "{type = \"" + type + "\", images = \"" + images.string() + "\", labels = \"" +
         labels.string() + "\", num_classes = 2, batch_size = 2}";
}

// Four images of 2 x 2 pixels with labels of two classes, in IDX and NumPy files, and invalid
// replacements.
struct Images {
  TempDir dir;
  std::string idx = bytes("\0\0\x08\3\0\0\0\4\0\0\0\2\0\0\0\2") + "0123456789abcdef";
  fs::path images = dir.write("images.idx", idx);
  fs::path labels = dir.write("labels.idx", bytes("\0\0\x08\1\0\0\0\4\0\1\0\1"));
  fs::path wrong = dir.write("wrong.idx", bytes("\0\0\x08\1\0\0\0\4\0\1\2\1"));
  fs::path array = dir.write("images.npy", npy("(4, 2, 2)", "0123456789abcdef"));
  fs::path wrong_array = dir.write("wrong.npy", npy("(4,)", bytes("\0\1\2\1")));
  // gzip of 32 stored bytes, of which the last four are missing: the header alone is readable.
  fs::path cut =
      dir.write("cut.gz", bytes("\x1F\x8B\x08\0\0\0\0\0\0\3\1\x20\0\xDF\xFF") + idx.substr(0, 28));
  fs::path workdir = dir / "made/for/run";
  std::string input = image_input("data/Idx", images, labels);
  fs::path config = dir.write("c.toml", R"(
[task]
type = "vision/ImageClassification"
num_classes = 2
model = { type = "vision/Mlp", image_shape = [2, 2, 1], hidden_dims = [4], num_classes = 2 }
train_input = )" + input + R"(
eval_input = )" + input + R"(
[trainer]
train_steps = 4
validation_interval = 2
learning_rate = 0.01
optimizer = "optim/Sgd"
[runtime]
threads = 1
)");
};

// In any position of the output.
void check_refused(const ShellResult& result, const std::string& field) {
  INFO(result.output);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output, Contains("command line:1:") && Contains(field + ": "));
}

}  // namespace

TEST_CASE("unreadable data is rejected before training, in every mode") {
  const Tables tables;
  for (const std::string mode : {"train_and_eval", "train_and_post_eval", "eval"}) {
    for (const fs::path& file : {tables.missing, tables.other, tables.binary}) {
      const std::string field = "task.eval_input.file";
      INFO(mode + " " + file.string());
      check_refused(run(tables.config, tables.workdir, word_of(field, file) + "--mode " + mode),
                    field);
      CHECK_FALSE(fs::exists(tables.dir / "made"));
    }
  }
  for (const fs::path& file : {tables.missing, tables.binary}) {
    const std::string field = "task.train_input.file";
    INFO(file.string());
    check_refused(run(tables.config, tables.workdir, word_of(field, file)), field);
    CHECK_FALSE(fs::exists(tables.dir / "made"));
  }
  // The task reports the missing column at the field that names it.
  const ShellResult result =
      run(tables.config, tables.workdir, word_of("task.train_input.file", tables.other));
  INFO(result.output);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output,
             Contains("c.toml:4:9: task.label: ") && Contains("other.csv: there is no column 'y'"));
  CHECK_FALSE(fs::exists(tables.dir / "made"));
}

TEST_CASE("an empty text is rejected before training, in every input") {
  const TempDir dir;
  const fs::path binary = dir.write("binary.txt", std::string("ELF\x7F\0\0\x01", 7));
  const std::string small =
      "task.model.num_layers=1 task.model.model_dims=16 task.model.num_heads=2 "
      "task.model.hidden_dims=16 trainer.train_steps=4 ";
  for (const auto& [name, field] :
       {std::pair{"lm/licenses.toml", "files"}, std::pair{"lm/masked.toml", "source.files"}}) {
    for (const std::string input : {"task.train_input", "task.eval_input"}) {
      for (const char* prefetch : {"0", "2"}) {
        const std::string path = input + "." + field;
        INFO(path << ", prefetch " << prefetch);
        check_refused(run(config(name), dir / "made",
                          quoted(path + "=['" + binary.string() + "']") + " " + small +
                              "task.*_input.prefetch=" + prefetch),
                      path);
        CHECK_FALSE(fs::exists(dir / "made"));
      }
    }
  }
}

TEST_CASE("a row that the training rows do not prepare for is rejected before training") {
  const Tables tables;
  const fs::path text = tables.dir.write("text.csv", "x,y\n1,2\ntwo,4\n");
  const std::string words = word_of("task.eval_input.file", text);
  for (const ShellResult& result :
       {run(tables.config, tables.workdir, words),
        trivet::test::trivet("check " + quoted(tables.config.string()) + " " + words)}) {
    check_refused(result, "task.eval_input.file");
    CHECK_THAT(result.output, Contains("text.csv:3: row 2, column 'x': 'two' is not a number"));
    CHECK_FALSE(fs::exists(tables.dir / "made"));
  }
}

TEST_CASE("damaged images and labels that are no class are rejected before training") {
  const Images images;
  const ShellResult good = run(images.config, images.dir / "good");
  INFO(good.output);
  REQUIRE(good.exit_code == 0);
  for (const std::string input : {"task.train_input", "task.eval_input"}) {
    const struct {
      std::string field, words, what;
    } cases[] = {
        {".labels", word_of(input + ".labels", images.wrong), "wrong.idx: label 2 of record 2"},
        {".images", word_of(input + ".images", images.cut), "cut.gz: the gzip data is cut off"},
        {".labels", quoted(input + "=" + image_input("data/Npy", images.array, images.wrong_array)),
         "wrong.npy: label 2 of record 2"},
    };
    for (const auto& [field, words, what] : cases) {
      INFO(words);
      for (const ShellResult& result :
           {run(images.config, images.workdir, words),
            trivet::test::trivet("check " + quoted(images.config.string()) + " " + words)}) {
        check_refused(result, input + field);
        CHECK_THAT(result.output, Contains(what));
        CHECK_FALSE(fs::exists(images.dir / "made"));
      }
    }
  }
}

TEST_CASE("the data of each of several tasks is opened before training") {
  const TempDir dir;
  const fs::path binary = dir.write("binary.txt", bytes("ELF\x7F\0\0\x01"));
  const std::string input = "task.tasks[1].task.eval_input";
  const std::string text = "={type = \"data/Text\", files = [\"" + binary.string() +
                           "\"], tokenizer = {type = \"tokenizers/Bytes\"}, seq_len = 4, "
                           "batch_size = 1}";
  check_refused(run(config("vision/multitask.toml"), dir / "made", quoted(input + text)),
                input + ".files");
  CHECK_FALSE(fs::exists(dir / "made"));
}

TEST_CASE("check finds unreadable data like run") {
  const Tables tables;
  for (const std::string field : {"task.train_input.file", "task.eval_input.file"}) {
    for (const fs::path& file : {tables.missing, tables.binary}) {
      check_refused(trivet::test::trivet("check " + quoted(tables.config.string()) + " " +
                                         word_of(field, file)),
                    field);
    }
  }
}

TEST_CASE("a rejected run without --workdir leaves no folder of runs") {
  const Tables tables;
  const fs::path location = tables.dir / "location";
  fs::create_directory(location);
  const ShellResult result =
      trivet::test::trivet("run " + quoted(tables.config.string()) + " " +
                               word_of("task.eval_input.file", tables.missing),
                           "env -C " + quoted(location.string()) + " ");
  check_refused(result, "task.eval_input.file");
  CHECK(fs::is_empty(location));
}

TEST_CASE("a run that cannot continue because of its data keeps its files unchanged") {
  const Tables tables;
  REQUIRE(run(tables.config, tables.workdir).exit_code == 0);
  const std::string metrics = read_file(tables.workdir / "metrics.jsonl");
  const std::string config = read_file(tables.workdir / "config.toml");
  check_refused(run(tables.config, tables.workdir,
                    word_of("task.eval_input.file", tables.missing) + "trainer.train_steps=8"),
                "task.eval_input.file");
  CHECK(read_file(tables.workdir / "metrics.jsonl") == metrics);
  CHECK(read_file(tables.workdir / "config.toml") == config);
  CHECK(run(tables.config, tables.workdir, "trainer.train_steps=8").exit_code == 0);
}

TEST_CASE("continuous evaluation opens its data before a checkpoint exists") {
  const Tables tables;
  check_refused(run(tables.config, tables.workdir,
                    word_of("task.eval_input.file", tables.missing) +
                        "--mode continuous_eval trainer.continuous_eval_timeout=100"),
                "task.eval_input.file");
  CHECK_FALSE(fs::exists(tables.dir / "made"));
}

}  // namespace opened_data_test

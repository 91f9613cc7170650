// SPDX-License-Identifier: Apache-2.0
// Event files, read back by an independent decoder.
#include <png.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <catch2/catch.hpp>

#include "support/event_file.h"
#include "support/shell.h"
#include "tensorboard/events.h"
#include "tensorboard/png.h"
#include "tensorboard/record_file.h"
#include "trivet/error.h"
#include "trivet/train/run_log.h"

namespace tensorboard_test {

using namespace trivet;
using namespace trivet::tensorboard;
using test::Event;
using test::EventValue;
namespace fs = std::filesystem;

namespace {

struct Run {
  Run() : context{.directory = temp.path()} {}
  // A writer as in another process of the same run.
  Events writer() { return Events({}, context); }
  std::vector<fs::path> files(const char* group = "train") const {
    return test::event_files(temp.path() / "events" / group);
  }
  std::vector<Event> events(const char* group = "train") const {
    REQUIRE(files(group).size() == 1);
    return test::read_events(files(group)[0]);
  }

  test::TempDir temp;
  SummaryWriterContext context;
};

Logs one(const char* name, double value) {
  Logs logs;
  logs.set(name, value);
  return logs;
}

const EventValue& value_of(const Event& event, const std::string& tag) {
  const auto found = std::find_if(event.values.begin(), event.values.end(),
                                  [&](const EventValue& value) { return value.tag == tag; });
  REQUIRE(found != event.values.end());
  return *found;
}

Summaries wanted() {
  Summaries summaries;
  summaries.want();
  return summaries;
}

Tensor host_image(const Shape& shape, const std::vector<float>& values) {
  Tensor image = Tensor::host(shape);
  std::copy(values.begin(), values.end(), image.mutable_span<float>().begin());
  return image;
}

// Simulates a reader, file after file: a session's start drops later steps. Steps up to 50 must be
// from the first session, the others from the second.
void check_steps_to_130(const std::vector<fs::path>& files) {
  std::vector<Event> kept;
  for (const fs::path& file : files) {
    for (Event& event : test::read_events(file)) {
      if (event.session_start) {
        std::erase_if(kept, [&](const Event& other) { return other.step >= event.step; });
      } else if (!event.values.empty()) {
        kept.push_back(std::move(event));
      }
    }
  }
  std::vector<std::int64_t> steps;
  for (const Event& event : kept) {
    steps.push_back(event.step);
    CHECK(event.values[0].number == (event.step <= 50 ? 0.F : 50.F));
  }
  CHECK(steps == std::vector<std::int64_t>{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130});
}

}  // namespace

TEST_CASE("records of any length read back") {
  test::TempDir temp;
  const fs::path path = temp / "records";
  const std::vector<std::string> records = {"", "a", std::string(100'000, '\0'), "ü\n"};
  {
    RecordFile file(path);
    for (const std::string& record : records) file.append(record);
  }
  CHECK(test::read_records(path) == records);
  CHECK_THROWS_AS(RecordFile(path), RunError);  // never appends to another writer's file
}

TEST_CASE("scalars read back with group, step, name and value") {
  Run run;
  Events writer = run.writer();
  writer.begin(0);
  Logs logs = one("training_loss", 0.25);
  logs.set("learning_rate", 1e-3);
  writer.scalars("train", 100, logs);
  writer.scalars("train", 200, one("training_loss", std::nan("")));
  writer.scalars("eval", 200, one("accuracy", 0.75));
  writer.flush();

  const std::vector<Event> train = run.events();
  REQUIRE(train.size() == 4);
  CHECK(train[0].version == "brain.Event:2");
  CHECK(train[1].session_start);
  CHECK(train[1].step == 1);
  CHECK(train[2].step == 100);
  CHECK(train[2].time > 1.7e9);
  REQUIRE(train[2].values.size() == 2);
  CHECK(train[2].values[0].tag == "training_loss");
  CHECK(train[2].values[0].number == 0.25F);
  CHECK(train[2].values[1].number == 1e-3F);
  CHECK(std::isnan(*train[3].values[0].number));

  const std::vector<Event> eval = run.events("eval");
  REQUIRE(eval.size() == 3);
  CHECK(eval[2].step == 200);
  CHECK(eval[2].values[0].number == 0.75F);
}

TEST_CASE("a run that continues from a checkpoint voids the steps it does again") {
  Run run;
  for (const std::int64_t start : {0, 50}) {
    Events writer = run.writer();
    writer.begin(start);
    for (std::int64_t step = start + 10; step <= start + 80; step += 10) {
      writer.scalars("train", step, one("training_loss", static_cast<double>(start)));
    }
  }
  CHECK(run.files().size() == 2);
  check_steps_to_130(run.files());
}

TEST_CASE("a run that goes back to a checkpoint voids the steps it does again, in its own file") {
  Run run;
  Events writer = run.writer();
  for (const std::int64_t start : {0, 50}) {
    writer.begin(start);
    for (std::int64_t step = start + 10; step <= start + 80; step += 10) {
      writer.scalars("train", step, one("training_loss", static_cast<double>(start)));
    }
  }
  CHECK(run.files().size() == 1);
  check_steps_to_130(run.files());
}

// As in a run that was killed after the checkpoint of step 50 and evaluates it when it resumes.
TEST_CASE("events of a session's first step are kept when a later session cuts there") {
  Run run;
  {
    Events writer = run.writer();
    writer.begin(50);
    writer.scalars("eval", 50, one("accuracy", 0.5));
    writer.scalars("eval", 60, one("accuracy", 0.6));
    writer.scalars("train", 60, one("training_loss", 0.6));
  }
  const Events next = run.writer();
  cut_run_records(run.temp.path(), {.step = 50, .evaluated = true});
  const std::vector<Event> kept = run.events("eval");
  REQUIRE(kept.size() == 3);
  CHECK(kept[1].session_start);
  CHECK(kept[2].step == 50);
  // Only the head of the other file is left, which shows nothing.
  CHECK(run.files("train").empty());
  cut_run_records(run.temp.path(), {.step = 50, .evaluated = false});
  CHECK(run.files("eval").empty());
}

TEST_CASE("the config that a run shows at step 0 stays when the run goes back there") {
  Run run;
  Events writer = run.writer();
  writer.begin(0);
  Summaries summaries = wanted();
  summaries.text("config", "seed = 1");
  writer.summaries("train", 0, summaries);
  writer.scalars("train", 10, one("training_loss", 1));
  cut_run_records(run.temp.path(), {.step = 0, .evaluated = false});
  const std::vector<Event> kept = run.events();
  REQUIRE(kept.size() == 3);
  CHECK(value_of(kept[2], "config").text == "seed = 1");
}

TEST_CASE("files are read in the order of writing, independent of the clock") {
  Run run;
  const fs::path future =
      run.temp.write("events/train/events.out.tfevents.9000000000.elsewhere.1", "");
  run.writer().scalars("train", 1, one("x", 1));
  const std::vector<fs::path> files = run.files();
  REQUIRE(files.size() == 2);
  CHECK(files[0] == future);
  CHECK_THAT(files[1].filename().string(), Catch::StartsWith("events.out.tfevents.9000000001."));
}

TEST_CASE("histograms read back, and values that are not finite are counted apart") {
  Run run;
  Summaries summaries = wanted();
  const float inf = std::numeric_limits<float>::infinity();
  summaries.histogram("h", host_image({6}, {0, 1, 2, 4, inf, std::nanf("")}));
  summaries.histogram("flat", host_image({2}, {3, 3}));
  run.writer().summaries("train", 7, summaries);

  const Event event = run.events().back();
  CHECK(event.step == 7);
  const test::EventHistogram& histogram = value_of(event, "h").histogram.value();
  CHECK(histogram.min == 0);
  CHECK(histogram.max == 4);
  CHECK(histogram.num == 4);
  CHECK(histogram.sum == 7);
  CHECK(histogram.sum_squares == 21);
  REQUIRE(histogram.limits.size() == 64);
  REQUIRE(histogram.counts.size() == 64);
  // Buckets are 1/16 wide and closed above: 1 lies in the one that ends at 1.
  CHECK(histogram.counts[0] == 1);
  CHECK(histogram.limits[15] == 1);
  CHECK(histogram.counts[15] == 1);
  CHECK(histogram.counts[31] == 1);
  CHECK(histogram.counts[63] == 1);
  CHECK(value_of(event, "h/not_finite").number == 2.F);

  const test::EventHistogram& flat = value_of(event, "flat").histogram.value();
  CHECK(flat.limits == std::vector<double>{3});
  CHECK(flat.counts == std::vector<double>{2});
}

TEST_CASE("images read back pixel by pixel") {
  Run run;
  Summaries summaries = wanted();
  // Two gray images of 1 x 3: [0, 1] as it is, cut at both ends; and each to its own range.
  const std::vector<float> pixels = {0, 0.2F, 1, -1, 3, 1};
  summaries.images("unit", host_image({2, 1, 3, 1}, pixels));
  summaries.images("fit", host_image({2, 1, 3, 1}, pixels), ImageRange::fit, 1);
  run.writer().summaries("eval", 3, summaries);

  const Event event = run.events("eval").back();
  REQUIRE(event.values.size() == 3);
  const auto bytes_of = [&](const std::string& tag) {
    const test::EventImage& image = value_of(event, tag).image.value();
    CHECK(image.height == 1);
    CHECK(image.width == 3);
    CHECK(image.colorspace == 1);
    png_image png = {};
    png.version = PNG_IMAGE_VERSION;
    REQUIRE(png_image_begin_read_from_memory(&png, image.file.data(), image.file.size()) != 0);
    png.format = PNG_FORMAT_GRAY;
    std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(png));
    REQUIRE(png_image_finish_read(&png, nullptr, bytes.data(), 0, nullptr) != 0);
    return bytes;
  };
  CHECK(bytes_of("unit/0") == std::vector<std::uint8_t>{0, 51, 255});
  CHECK(bytes_of("unit/1") == std::vector<std::uint8_t>{0, 255, 255});
  CHECK(bytes_of("fit/0") == std::vector<std::uint8_t>{0, 51, 255});
}

TEST_CASE("colors keep their order and sizes that lie are refused") {
  const trivet::Image image{.height = 1, .width = 2, .channels = 3, .pixels = {1, 2, 3, 4, 5, 6}};
  const std::string file = encode_png(image);
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&png, file.data(), file.size()) != 0);
  CHECK(png.width == 2);
  png.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(6);
  REQUIRE(png_image_finish_read(&png, nullptr, pixels.data(), 0, nullptr) != 0);
  CHECK(pixels == image.pixels);

  trivet::Image bad = image;
  bad.height = 2;
  CHECK_THROWS_AS(encode_png(bad), Error);
  bad.height = std::int64_t{1} << 62;
  CHECK_THROWS_AS(encode_png(bad), Error);
}

TEST_CASE("text reads back as TensorBoard's text page shows it") {
  Run run;
  Summaries summaries = wanted();
  summaries.text("config", "```toml\nname = \"é\"\n```\n");
  run.writer().summaries("train", 0, summaries);
  const EventValue value = run.events().back().values.at(0);
  CHECK(value.tag == "config");
  CHECK(value.plugin == "text");
  CHECK(value.text == "```toml\nname = \"é\"\n```\n");
}

TEST_CASE("a directory that cannot be written is an error with the reason") {
  Run run;
  run.temp.write("events", "a file");
  Events writer = run.writer();
  CHECK_THROWS_WITH(writer.scalars("train", 1, one("x", 1)), Catch::Contains("cannot use"));
}

}  // namespace tensorboard_test

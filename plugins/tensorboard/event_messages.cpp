// SPDX-License-Identifier: Apache-2.0
#include "event_messages.h"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "png.h"

namespace trivet::tensorboard {
namespace {

using Writer = protozero::pbf_writer;

// Field numbers, by message.
namespace event {
enum : std::uint32_t { wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7 };
}
namespace session_log {
enum : std::uint32_t { status = 1 };
}
namespace summary {
enum : std::uint32_t { value = 1 };
}
namespace value {
enum : std::uint32_t {
  tag = 1,
  simple_value = 2,
  image = 4,
  histo = 5,
  tensor = 8,
  metadata = 9,
};
}
namespace image {
enum : std::uint32_t { height = 1, width = 2, colorspace = 3, encoded_image = 4 };
}
namespace histo {
enum : std::uint32_t {
  min = 1,
  max = 2,
  num = 3,
  sum = 4,
  sum_squares = 5,
  bucket_limit = 6,
  bucket = 7,
};
}
namespace metadata {
enum : std::uint32_t { plugin_data = 1, data_class = 4 };
}
namespace plugin_data {
enum : std::uint32_t { plugin_name = 1 };
}
namespace tensor {
enum : std::uint32_t { dtype = 1, tensor_shape = 2, string_val = 8 };
}
namespace tensor_shape {
enum : std::uint32_t { dim = 2 };
}
namespace dim {
enum : std::uint32_t { size = 1 };
}

// Values of enumerations.
constexpr std::int32_t kSessionStart = 1;
constexpr std::int32_t kStringType = 7;       // DT_STRING
constexpr std::int32_t kTensorDataClass = 2;  // DATA_CLASS_TENSOR

void add_moment(Writer& out, Moment moment) {
  out.add_double(event::wall_time, moment.time);
  out.add_int64(event::step, moment.step);
}

void add_scalar(Writer& summary_out, const std::string& name, double number) {
  Writer out(summary_out, summary::value);
  out.add_string(value::tag, name);
  out.add_float(value::simple_value, static_cast<float>(number));
}

void add_histogram(Writer& summary_out, const std::string& name, const Histogram& histogram) {
  {
    Writer out(summary_out, summary::value);
    out.add_string(value::tag, name);
    Writer body(out, value::histo);
    body.add_double(histo::min, histogram.min);
    body.add_double(histo::max, histogram.max);
    body.add_double(histo::num, static_cast<double>(histogram.count));
    body.add_double(histo::sum, histogram.sum);
    body.add_double(histo::sum_squares, histogram.sum_squares);
    body.add_packed_double(histo::bucket_limit, histogram.limits.begin(), histogram.limits.end());
    body.add_packed_double(histo::bucket, histogram.counts.begin(), histogram.counts.end());
  }
  if (histogram.not_finite > 0) {
    add_scalar(summary_out, name + "/not_finite", static_cast<double>(histogram.not_finite));
  }
}

void add_image(Writer& summary_out, const std::string& name, const Image& picture) {
  Writer out(summary_out, summary::value);
  out.add_string(value::tag, name);
  Writer body(out, value::image);
  body.add_int32(image::height, static_cast<std::int32_t>(picture.height));
  body.add_int32(image::width, static_cast<std::int32_t>(picture.width));
  body.add_int32(image::colorspace, static_cast<std::int32_t>(picture.channels));
  body.add_bytes(image::encoded_image, encode_png(picture));
}

void add_text(Writer& summary_out, const std::string& name, const std::string& text) {
  Writer out(summary_out, summary::value);
  out.add_string(value::tag, name);
  {
    Writer body(out, value::tensor);
    body.add_enum(tensor::dtype, kStringType);
    {
      Writer shape(body, tensor::tensor_shape);
      Writer extent(shape, tensor_shape::dim);
      extent.add_int64(dim::size, 1);
    }
    body.add_bytes(tensor::string_val, text);
  }
  Writer about(out, value::metadata);
  {
    Writer plugin(about, metadata::plugin_data);
    plugin.add_string(plugin_data::plugin_name, "text");
  }
  about.add_enum(metadata::data_class, kTensorDataClass);
}

void add_entry(Writer& out, const Summaries::Entry& entry) {
  if (const auto* number = std::get_if<double>(&entry.content)) {
    add_scalar(out, entry.name, *number);
  } else if (const auto* histogram = std::get_if<Histogram>(&entry.content)) {
    add_histogram(out, entry.name, *histogram);
  } else if (const auto* picture = std::get_if<Image>(&entry.content)) {
    add_image(out, entry.name, *picture);
  } else {
    add_text(out, entry.name, std::get<std::string>(entry.content));
  }
}

}  // namespace

// A message is complete when its writer is destroyed, hence the inner scopes.

std::string version_event(double time) {
  std::string bytes;
  Writer out(bytes);
  out.add_double(event::wall_time, time);
  out.add_string(event::file_version, "brain.Event:2");
  return bytes;
}

std::string start_event(Moment moment) {
  std::string bytes;
  {
    Writer out(bytes);
    add_moment(out, moment);
    Writer body(out, event::session_log);
    body.add_enum(session_log::status, kSessionStart);
  }
  return bytes;
}

std::optional<std::int64_t> step_of_event(std::string_view bytes) {
  std::int64_t step = 0;  // also of other files' events, which stay
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      if (reader.tag() == event::file_version || reader.tag() == event::session_log) {
        return std::nullopt;
      }
      if (reader.tag() == event::step) {
        step = reader.get_int64();
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return 0;
  }
  return step;
}

std::string scalars_event(Moment moment, const Logs& logs) {
  std::string bytes;
  {
    Writer out(bytes);
    add_moment(out, moment);
    Writer body(out, event::summary);
    for (const auto& [name, number] : logs) add_scalar(body, name, number);
  }
  return bytes;
}

std::string summaries_event(Moment moment, const Summaries& summaries) {
  std::string bytes;
  {
    Writer out(bytes);
    add_moment(out, moment);
    Writer body(out, event::summary);
    for (const Summaries::Entry& entry : summaries.entries()) add_entry(body, entry);
  }
  return bytes;
}

}  // namespace trivet::tensorboard

// SPDX-License-Identifier: Apache-2.0
#include "data/images/image_folder_input.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "data/images/image_file.h"
#include "data/images/normalizer.h"
#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet::data {
namespace {

namespace fs = std::filesystem;

struct ImageName {
  std::string file;
  std::int32_t label = 0;
};

std::string checked_name(const fs::path& path) {
  const std::string name = path.string();
  if (!find_invalid_utf8(name)) return name;
  std::string shown;
  for (const char c : name) shown += static_cast<unsigned char>(c) < 0x80 ? c : '?';
  throw InputError(shown + ": the name is not UTF-8", {.hint = "rename the file"});
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with(".");
}

[[noreturn]] void throw_unreadable(const std::string& folder, const std::error_code& failure) {
  throw InputError("cannot read the folder " + folder + ": " + failure.message());
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    if (!is_hidden(entry->path())) entries.push_back(entry->path());
  }
  if (failure) throw_unreadable(folder.string(), failure);
  std::ranges::sort(entries);
  return entries;
}

// All images below a folder, by name. A linked folder could lead back to this one.
void add_images(const fs::path& folder, std::int32_t label, std::vector<ImageName>& images) {
  std::error_code ignored;
  for (const fs::path& path : entries_of(folder)) {
    const std::string name = checked_name(path);
    if (fs::is_directory(path, ignored)) {
      if (fs::is_symlink(path, ignored)) {
        throw InputError(name + ": is a link to a folder", {.hint = "only a class may be a link"});
      }
      add_images(path, label, images);
    } else if (is_image_name(path)) {
      images.push_back({name, label});
    } else {
      throw InputError(name + ": is no .jpg, .jpeg or .png file",
                       {.hint = "move it out of the folder, or convert it"});
    }
  }
}

std::vector<std::string> classes_in(const std::string& folder) {
  std::vector<std::string> classes;
  std::error_code ignored;
  for (const fs::path& path : entries_of(folder)) {
    if (fs::is_directory(path, ignored)) {
      classes.push_back(path.filename().string());
    } else if (is_image_name(path)) {
      throw InputError(checked_name(path) + ": is in no folder of a class",
                       {.hint = "move it, or set labels = false for images without labels"});
    }
  }
  return classes;
}

std::vector<ImageName> labeled_images(const ImageFolderConfig& config) {
  const std::string& folder = config.path.text;
  std::vector<std::string> classes = config.classes;
  if (classes.empty()) classes = classes_in(folder);
  const auto count = static_cast<std::int64_t>(classes.size());
  if (config.num_classes != 0 && count != config.num_classes) {
    throw InputError(folder + ": has " + std::to_string(count) +
                         " folders of classes, and "
                         "num_classes is " +
                         std::to_string(config.num_classes),
                     {.hint = "classes lists their names in the order of their numbers"});
  }
  std::vector<ImageName> images;
  for (std::int64_t label = 0; label < count; ++label) {
    const fs::path path = fs::path(folder) / classes[static_cast<std::size_t>(label)];
    const std::size_t before = images.size();
    add_images(path, static_cast<std::int32_t>(label), images);
    if (images.size() == before) throw InputError(checked_name(path) + ": has no images");
  }
  return images;
}

std::vector<ImageName> images_of(const ImageFolderConfig& config) {
  const std::string& folder = config.path.text;
  std::error_code failure;
  if (!config.labels && fs::is_regular_file(folder, failure)) return {{folder, 0}};
  if (!fs::is_directory(folder, failure)) {
    throw InputError(folder +
                     (fs::exists(folder, failure) ? ": is no folder" : ": does not exist"));
  }
  std::vector<ImageName> images;
  if (config.labels) {
    images = labeled_images(config);
  } else {
    add_images(folder, 0, images);
  }
  if (images.empty()) throw InputError(folder + ": has no images");
  return images;
}

class FolderSource final : public ExampleSource {
 public:
  explicit FolderSource(const ImageFolderConfig& config)
      : config_(config),
        images_(images_of(config)),
        shape_(shape_of(config, images_.front().file)),
        normalizer_(config, 1.0 / 255, shape_[-1], config.path.text) {}

  const std::string& name() const override { return config_.path.text; }
  std::int64_t examples() const override { return std::ssize(images_); }
  const Shape& example_shape() const override { return shape_; }
  bool has_labels() const override { return config_.labels; }
  std::int32_t label(std::int64_t example) const override { return of(example).label; }
  std::string location(std::int64_t example) const override { return of(example).file; }

  // Without memory for the pixels only the headers are checked, so a damaged image is found when it
  // is read.
  void load() override {
    if (!config_.in_memory) {
      for (const ImageName& image : images_) check(image.file, read_image_header(image.file));
      return;
    }
    const auto each = static_cast<std::size_t>(shape_.size());
    if (images_.size() > static_cast<std::size_t>(config_.limit.count) / each) {
      throw InputError(name() + ": " + std::to_string(images_.size()) + " images of " +
                           std::to_string(each) +
                           " bytes are more than limit = " + std::to_string(config_.limit.count),
                       {.hint = "set in_memory = false, or a larger limit"});
    }
    pixels_.reserve(images_.size() * each);
    for (const ImageName& image : images_) {
      const Pixels decoded = decode(image.file);
      pixels_.insert(pixels_.end(), decoded.values.begin(), decoded.values.end());
    }
  }

  void read(std::int64_t example, std::span<float> out) override {
    if (!config_.in_memory) return normalizer_.bytes(decode(of(example).file).values, out);
    normalizer_.bytes(
        std::span(pixels_).subspan(static_cast<std::size_t>(example) * out.size(), out.size()),
        out);
  }

 private:
  const ImageName& of(std::int64_t example) const {
    return images_[static_cast<std::size_t>(example)];
  }

  static Shape shape_of(const ImageFolderConfig& config, const std::string& first) {
    const Pixels header = read_image_header(first);
    return {config.height == 0 ? header.height : config.height,
            config.width == 0 ? header.width : config.width,
            config.channels == 0 ? header.channels : config.channels};
  }

  void check(const std::string& file, const Pixels& image) const {
    if (config_.height > 0 || (image.height == shape_[0] && image.width == shape_[1])) return;
    throw InputError(file + ": has " + std::to_string(image.height) + " x " +
                         std::to_string(image.width) + " pixels, " + images_.front().file +
                         " has " + std::to_string(shape_[0]) + " x " + std::to_string(shape_[1]),
                     {.hint = "set height and width to resize the images"});
  }

  Pixels decode(const std::string& file) const {
    const Pixels image = read_image(file, shape_[2]);
    check(file, image);
    return resized(image, shape_[0], shape_[1]);
  }

  const ImageFolderConfig config_;
  std::vector<ImageName> images_;
  Shape shape_;
  Normalizer normalizer_;
  std::vector<std::uint8_t> pixels_;  // of all images, with in_memory
};

// The config of an input that reads examples in place of its own images.
ImageFolderConfig folder_config(ImageFolderConfig config, const InputContext& context) {
  if (context.examples.empty()) return config;
  if (context.examples == "-") {
    throw InputError("images are read from a file or a folder, not from standard input");
  }
  config.path = context.examples;
  config.labels = config.shuffle = config.drop_remainder = false;
  config.epochs = 1;
  return config;
}

}  // namespace

void ImageFolderConfig::validate(Diagnostics& diagnostics) const {
  DatasetConfig::validate(diagnostics);
  if ((height == 0) != (width == 0)) {
    diagnostics.add(height == 0 ? "height" : "width", "is 0, and the other one is set",
                    "set both to resize images, or none");
  }
  if (channels == 2) diagnostics.add("channels", "is 2", "images have 1 channel or 3");
  if (labels && classes.empty() && num_classes == 0) {
    diagnostics.add("num_classes",
                    "is not set, so a missing folder would change the numbers of "
                    "classes unnoticed",
                    "set it to the number of folders, or list them in classes");
  }
  if (!labels && !classes.empty()) {
    diagnostics.add("classes", "is set, but labels is false", "remove one of them");
  }
}

ImageFolderInput::ImageFolderInput(const Config& config, InputContext& context)
    : ExampleInput(folder_config(config, context), context,
                   std::make_unique<FolderSource>(folder_config(config, context))) {}

const void* ImageFolderInput::extension(std::string_view id) const noexcept {
  if (id == kInputExamples) return static_cast<const ExampleLocations*>(this);
  return Input::extension(id);
}

}  // namespace trivet::data

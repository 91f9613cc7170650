// SPDX-License-Identifier: Apache-2.0
#include "data/images/image_folder_input.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "data/images/given_images.h"
#include "data/images/image_file.h"
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

class FolderImages final : public EncodedImages {
 public:
  explicit FolderImages(const ImageFolderConfig& config)
      : name_(config.path.text), labels_(config.labels), images_(images_of(config)) {}

  const std::string& name() const override { return name_; }
  std::int64_t count() const override { return std::ssize(images_); }
  std::string location(std::int64_t image) const override { return of(image).file; }
  bool has_labels() const override { return labels_; }
  std::int32_t label(std::int64_t image) const override { return of(image).label; }
  Pixels header(std::int64_t image) const override { return read_image_header(of(image).file); }
  Pixels pixels(std::int64_t image, std::int64_t channels) const override {
    return read_image(of(image).file, channels);
  }

 private:
  const ImageName& of(std::int64_t image) const { return images_[static_cast<std::size_t>(image)]; }

  std::string name_;
  bool labels_;
  std::vector<ImageName> images_;
};

}  // namespace

void ImageFolderConfig::validate(Diagnostics& diagnostics) const {
  EncodedConfig::validate(diagnostics);
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

std::unique_ptr<EncodedImages> folder_images(const ImageFolderConfig& config) {
  return std::make_unique<FolderImages>(config);
}

ImageFolderInput::ImageFolderInput(const Config& own, InputContext& context)
    : ExampleInput(given_config(own, context, &Config::path), context,
                   std::make_unique<EncodedSource>(
                       given_config(own, context, &Config::path),
                       folder_images(given_config(own, context, &Config::path)))) {}

const void* ImageFolderInput::extension(std::string_view id) const noexcept {
  if (id == kInputExamples) return static_cast<const ExampleLocations*>(this);
  return Input::extension(id);
}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
#include "data/images/image_tar_input.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "data/formats/decompressed_limit.h"
#include "data/formats/file_list.h"
#include "data/formats/tar_file.h"
#include "data/images/given_images.h"
#include "trivet/error.h"
#include "trivet/text/strings.h"

namespace trivet::data {
namespace {

constexpr std::uint64_t kMostLabelBytes = 4096;
constexpr std::uint64_t kMostImageBytes = std::uint64_t{1} << 30;

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// The name of a member at the first dot of its last part: "a/b.seg.png" is of "a/b".
struct MemberName {
  explicit MemberName(const std::string& name) {
    const std::size_t folder = name.rfind('/') + 1;  // 0 without one
    const std::size_t dot = name.find('.', folder);
    hidden = dot == folder;
    key = name.substr(0, dot);
    if (dot != std::string::npos) extension = name.substr(dot + 1);
    extension = lower_case(extension);
  }
  bool is_image() const { return extension == "jpg" || extension == "jpeg" || extension == "png"; }
  std::string key, extension;
  bool hidden = false;
};

// Reads the .cls members of a config.
class ClassReader {
 public:
  explicit ClassReader(const ImageTarConfig& config)
      : names_(config.classes), num_classes_(config.num_classes) {}

  std::int32_t read(std::string_view contents, const std::string& location) const {
    if (contents.size() > kMostLabelBytes) {
      throw InputError(location + ": has " + std::to_string(contents.size()) +
                       " bytes, more than 4096");
    }
    const std::string_view text = trim(contents);
    return names_.empty() ? number(text, location) : named(text, location);
  }

 private:
  static std::string quoted_text(std::string_view text) {
    std::string shown;
    for (const char c : text.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
    return "'" + shown + (text.size() > 40 ? "...'" : "'");
  }

  std::int32_t number(std::string_view text, const std::string& location) const {
    std::int32_t label = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), label);
    if (text.empty() || failure != std::errc{} || end != text.data() + text.size() || label < 0) {
      throw InputError(location + ": " + quoted_text(text) + " is not the number of a class",
                       {.hint = "classes lists the names of the classes, if members have names"});
    }
    if (num_classes_ > 0 && label >= num_classes_) {
      throw InputError(location + ": the class " + std::to_string(label) +
                       " is not below num_classes = " + std::to_string(num_classes_));
    }
    return label;
  }

  std::int32_t named(std::string_view text, const std::string& location) const {
    const auto found = std::ranges::find(names_, text);
    if (found == names_.end()) {
      throw InputError(location + ": " + quoted_text(text) + " is none of the classes",
                       {.hint = "add it to classes, or correct the member"});
    }
    return static_cast<std::int32_t>(found - names_.begin());
  }

  std::vector<std::string> names_;
  std::int64_t num_classes_;
};

class TarImages final : public EncodedImages {
 public:
  explicit TarImages(const ImageTarConfig& config) : labels_(config.labels) {
    const std::vector<std::string> files = list_files(config.files);
    name_ = summary_of(files);
    const ClassReader classes(config);
    std::set<std::string> ignored;
    for (const std::string& extension : config.ignore) ignored.insert(lower_case(extension));
    DecompressedLimit together(name_, static_cast<std::uint64_t>(config.limit.count));
    for (const std::string& file : files) {
      shards_.emplace_back(file, together.of_one());
      together.add(shards_.back().decompressed());
      add(shards_.size() - 1, classes, ignored);
    }
  }

  const std::string& name() const override { return name_; }
  std::int64_t count() const override { return std::ssize(images_); }
  std::string location(std::int64_t image) const override {
    const Image& one = of(image);
    return shards_[one.shard].location(member_of(one));
  }
  bool has_labels() const override { return labels_; }
  std::int32_t label(std::int64_t image) const override { return of(image).label; }
  Pixels header(std::int64_t image) const override {
    return decode_image_header(location(image), contents(image));
  }
  Pixels pixels(std::int64_t image, std::int64_t channels) const override {
    return decode_image(location(image), contents(image), channels);
  }
  void release() override {
    for (TarFile& shard : shards_) shard.close();
  }

 private:
  struct Image {
    std::size_t shard = 0, member = 0;
    std::int32_t label = 0;
  };
  // The members of one key, as indices.
  struct Example {
    std::optional<std::size_t> image, label;
  };

  const Image& of(std::int64_t image) const { return images_[static_cast<std::size_t>(image)]; }
  const TarMember& member_of(const Image& image) const {
    return shards_[image.shard].members()[image.member];
  }
  std::string_view contents(std::int64_t image) const {
    return shards_[of(image).shard].contents(member_of(of(image)));
  }

  void add(std::size_t index, const ClassReader& classes, const std::set<std::string>& ignored) {
    const TarFile& shard = shards_[index];
    const std::vector<TarMember>& members = shard.members();
    std::map<std::string, Example> examples;
    std::vector<const Example*> in_order;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const MemberName name(members[i].name);
      if (name.hidden || ignored.contains(name.extension)) continue;
      const bool is_label = name.extension == "cls";
      if (is_label && !labels_) continue;
      if (!is_label && !name.is_image()) {
        refuse_other(shard.location(members[i]), name.extension);
      }
      if (!is_label) check_size(shard, members[i]);
      Example& example = examples[name.key];
      std::optional<std::size_t>& member = is_label ? example.label : example.image;
      if (member) {
        throw InputError(shard.location(members[i]) + ": " + members[*member].name +
                             " has the same key '" + name.key + "'",
                         {.hint = "a key has one image and one .cls member"});
      }
      member = i;
      if (!is_label) in_order.push_back(&example);
    }
    check_pairs(shard, examples);
    if (in_order.empty()) throw InputError(shard.name() + ": has no images");
    for (const Example* example : in_order) {
      Image image{index, *example->image, 0};
      if (labels_) {
        const TarMember& label = members[*example->label];
        image.label = classes.read(shard.contents(label), shard.location(label));
      }
      images_.push_back(image);
    }
  }

  [[noreturn]] static void refuse_other(const std::string& location, const std::string& extension) {
    throw InputError(
        location + ": is no .jpg, .jpeg, .png or .cls member",
        {.hint = extension.empty() ? "make the archive without it"
                                   : "ignore = [\"" + extension + "\"] leaves out such members"});
  }

  static void check_size(const TarFile& shard, const TarMember& member) {
    if (member.size <= kMostImageBytes) return;
    throw InputError(shard.location(member) + ": has " + std::to_string(member.size) +
                     " bytes, more than 2^30");
  }

  void check_pairs(const TarFile& shard, const std::map<std::string, Example>& examples) const {
    if (!labels_) return;
    for (const auto& [key, example] : examples) {
      if (example.image && example.label) continue;
      const TarMember& member = shard.members()[example.image ? *example.image : *example.label];
      throw InputError(
          shard.location(member) + (example.image ? ": has no '" + key + ".cls' beside it"
                                                  : ": has no image '" + key + ".jpg' or .png"),
          {.hint = example.image ? "labels = false reads images without classes"
                                 : "add the image, or make the archive without the class"});
    }
  }

  bool labels_;
  std::string name_;
  std::vector<TarFile> shards_;
  std::vector<Image> images_;
};

std::unique_ptr<EncodedSource> tar_source(const ImageTarConfig& config,
                                          const InputContext& context) {
  std::unique_ptr<EncodedImages> images = given_images(context);
  if (images == nullptr) images = std::make_unique<TarImages>(config);
  return std::make_unique<EncodedSource>(config, std::move(images));
}

}  // namespace

void ImageTarConfig::validate(Diagnostics& diagnostics) const {
  EncodedConfig::validate(diagnostics);
  if (files.empty()) diagnostics.add("files", "is empty");
  const auto count = std::ssize(classes);
  if (!classes.empty() && num_classes != 0 && num_classes != count) {
    diagnostics.add(
        "num_classes",
        "is " + std::to_string(num_classes) + ", but classes has " + count_of(count, "name"),
        "remove num_classes, or complete the list");
  }
  if (std::set<std::string>(classes.begin(), classes.end()).size() != classes.size()) {
    diagnostics.add("classes", "has a name twice", "each class has its own name");
  }
  for (const std::string& extension : ignore) {
    if (!extension.starts_with('.')) continue;
    diagnostics.add("ignore", "has '" + extension + "', which begins with a dot",
                    "write \"" + extension.substr(1) + "\"");
  }
  if (!labels && !classes.empty()) {
    diagnostics.add("classes", "is set, but labels is false", "remove one of them");
  }
}

ImageTarInput::ImageTarInput(const Config& own, InputContext& context)
    : ExampleInput(given_config(own, context, &Config::files), context,
                   tar_source(given_config(own, context, &Config::files), context)) {}

const void* ImageTarInput::extension(std::string_view id) const noexcept {
  if (id == kInputExamples) return static_cast<const ExampleLocations*>(this);
  return Input::extension(id);
}

}  // namespace trivet::data

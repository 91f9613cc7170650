// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <zlib.h>

#include <fstream>
#include <stdexcept>

namespace trivet::test {

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string idx(const std::vector<std::uint32_t>& extents, const std::string& elements, int type) {
  std::string bytes(2, '\0');
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(extents.size());
  for (const std::uint32_t extent : extents) {
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(extent >> shift & 255);
  }
  return bytes + elements;
}

std::string numbered_images(std::uint32_t n) {
  std::string pixels;
  for (std::uint32_t i = 0; i < n; ++i) {
    for (const std::uint32_t pixel : {i & 255, i >> 8, 7U, 9U}) pixels += static_cast<char>(pixel);
  }
  return idx({n, 2, 2}, pixels);
}

std::string cyclic_labels(std::uint32_t n, std::uint32_t classes) {
  std::string labels;
  for (std::uint32_t i = 0; i < n; ++i) labels += static_cast<char>(i % classes);
  return idx({n}, labels);
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("zlib cannot be set up");
  }
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib cannot compress");
  return packed;
}

std::string npy(const std::string& dict, const std::string& elements) {
  std::string header = dict;
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += '\1';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + elements;
}

void note(const Batch& batch, Seen& seen) {
  const auto pixels = batch.at("image").to_host<float>();
  const auto weights = batch.at("weight").to_host<float>();
  const std::size_t each = pixels.size() / weights.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) ++seen.padding;
    if (weights[i] != 1) continue;
    seen.examples.push_back(
        static_cast<std::int64_t>(pixels[i * each] + 256 * pixels[i * each + 1]));
  }
  ++seen.batches;
}

Seen take(Input& input, std::int64_t batches) {
  Seen seen;
  while (seen.batches != batches) {
    const auto batch = input.get_next();
    if (!batch) break;
    note(*batch, seen);
  }
  return seen;
}

}  // namespace trivet::test

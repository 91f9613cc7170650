// SPDX-License-Identifier: Apache-2.0
#include "data/tokens/preparation.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "data/formats/token_file.h"
#include "trivet/config/digest.h"
#include "trivet/config/value.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/text/strings.h"

namespace trivet::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexName = "data.toml";

std::string shard_name(std::size_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "tokens-%05zu.bin", number);
  return name;
}

struct Texts {
  std::string digest;
  std::int64_t documents = 0;
  std::int64_t bytes = 0;
};

// Depends on the texts alone: renamed files or another order of patterns change nothing.
Texts look_at(const TextPipeline& pipeline) {
  Texts texts;
  std::string digests;
  pipeline.source->read([&](const SourceExample& example) {
    const std::string text = pipeline.targets.fill(example);
    digests += digest(text);
    // Folded at intervals, since there may be very many documents.
    if (digests.size() > std::size_t{1} << 20) digests = digest(digests);
    ++texts.documents;
    texts.bytes += static_cast<std::int64_t>(text.size());
  });
  texts.digest = digest(digests);
  return texts;
}

std::string line(const char* key, const Value& value) {
  return std::string(key) + " = " + to_toml(value) + "\n";
}

// The text of data.toml. A directory is complete if its data.toml equals the text made from its
// shards.
class Index {
 public:
  Index(const Texts& texts, const Tokenizer& tokenizer, std::uint64_t shard_bytes)
      : head_("# Token files made from text by 'trivet data prepare'.\n" +
              line("format", "trivet.tokens/1") + line("documents", texts.documents) +
              line("text_bytes", texts.bytes) + line("text_digest", texts.digest) +
              line("tokenizer", tokenizer.fingerprint()) +
              line("vocabulary_size", tokenizer.vocabulary_size()) +
              line("shard_bytes", shard_bytes)) {}

  void add(const std::string& file, std::int64_t documents, std::int64_t tokens,
           const std::string& digest_of_file) {
    shards_ += "\n[[shards]]\n" + line("file", file) + line("documents", documents) +
               line("tokens", tokens) + line("digest", digest_of_file);
    tokens_ += tokens;
    ++count_;
  }
  std::string text() const { return head_ + line("tokens", tokens_) + shards_; }
  std::int64_t tokens() const { return tokens_; }
  std::size_t count() const { return count_; }

 private:
  std::string head_, shards_;
  std::int64_t tokens_ = 0;
  std::size_t count_ = 0;
};

// Adds the shards of an earlier preparation. Empty if they are damaged or data.toml lists other
// shards.
std::optional<Index> find_index(Index index, const fs::path& directory) {
  try {
    const std::string text = read_text_file(directory / kIndexName);
    for (std::size_t i = 0; fs::exists(directory / shard_name(i)); ++i) {
      const TokenFile file((directory / shard_name(i)).string(), TokenLayout::by_header);
      index.add(shard_name(i), file.documents(), file.tokens(), file.verify());
    }
    if (index.text() == text) return index;
  } catch (const RunError&) {
    // Unreadable files are made again. If that fails, too, the error is reported then.
  }
  return std::nullopt;
}

class ShardWriter {
 public:
  ShardWriter(TokenFileHeader header, fs::path directory, std::uint64_t shard_bytes, Index& index)
      : header_(std::move(header)),
        directory_(std::move(directory)),
        most_(static_cast<std::int64_t>(shard_bytes) / header_.width),
        index_(index),
        shard_(header_) {}

  void add(const std::vector<std::int32_t>& ids) {
    const auto count = static_cast<std::int64_t>(ids.size());
    if (shard_.documents() > 0 && shard_.tokens() + count > most_) flush();
    shard_.add(ids);
  }
  void flush() {
    if (shard_.documents() == 0) return;
    const std::string name = shard_name(index_.count());
    const std::string found = shard_.write((directory_ / name).string());
    index_.add(name, shard_.documents(), shard_.tokens(), found);
    shard_ = TokenFileWriter(header_);
  }

 private:
  TokenFileHeader header_;
  fs::path directory_;
  std::int64_t most_;
  Index& index_;
  TokenFileWriter shard_;
};

TokenFileHeader header_of(const Tokenizer& tokenizer) {
  TokenFileHeader header;
  header.vocabulary_size = tokenizer.vocabulary_size();
  header.width = header.vocabulary_size > 65536 ? 4 : 2;
  header.bos = tokenizer.bos_id();
  header.eos = tokenizer.eos_id();
  header.tokenizer = tokenizer.fingerprint();
  return header;
}

void remove_file(const fs::path& file) {
  std::error_code failed;
  fs::remove(file, failed);
  if (failed) throw RunError("cannot remove " + file.string() + ": " + failed.message());
}

Index make_index(Index index, const TextPipeline& pipeline, const fs::path& directory,
                 std::uint64_t shard_bytes) {
  // Without data.toml the directory is incomplete until all shards are written.
  remove_file(directory / kIndexName);
  ShardWriter writer(header_of(*pipeline.tokenizer), directory, shard_bytes, index);
  tokenize_each(pipeline, [&](const TokenizedExample& example) { writer.add(example.ids); });
  writer.flush();
  // Shards left from a preparation with more shards: patterns like tokens-*.bin would match them.
  for (std::size_t i = index.count(); fs::exists(directory / shard_name(i)); ++i) {
    remove_file(directory / shard_name(i));
  }
  replace_file(directory / kIndexName, index.text());
  return index;
}

}  // namespace

PreparedData prepare_tokens(const TextPipeline& pipeline, const fs::path& directory,
                            std::uint64_t shard_bytes) {
  const std::string& name = pipeline.source->name();
  if (!pipeline.inputs.empty() || !pipeline.suffixes.empty() || !pipeline.task_ids.empty()) {
    throw InputError(name + ": token files do not record which tokens are inputs, nor tasks",
                     {.hint = "prepare an input without `inputs`, `suffixes` and `task_ids`"});
  }
  if (!pipeline.features.empty()) {
    throw InputError(name + ": token files do not hold passthrough_features",
                     {.hint = "prepare an input without them"});
  }
  const Texts texts = look_at(pipeline);
  if (texts.bytes == 0) throw InputError(name + ": the source has no text");
  const Index head(texts, *pipeline.tokenizer, shard_bytes);
  const std::optional<Index> found = find_index(head, directory);
  const Index index = found ? *found : make_index(head, pipeline, directory, shard_bytes);
  PreparedData made;
  made.reused = found.has_value();
  for (std::size_t i = 0; i < index.count(); ++i) made.files.push_back(directory / shard_name(i));
  made.facts = {count_of(texts.documents, "document"), count_of(texts.bytes, "byte"),
                count_of(index.tokens(), "token")};
  made.input = Value::table(
      {{"type", "data/Tokens"}, {"files", Value::array({(directory / "tokens-*.bin").string()})}});
  return made;
}

}  // namespace trivet::data

// SPDX-License-Identifier: Apache-2.0
// Names that somebody may have meant.
#include <algorithm>
#include <cctype>

#include "trivet/config/schema.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

// Nobody types longer names; hostile files do, and the distance costs the product of both lengths.
constexpr std::size_t kLongest = 128;
constexpr std::size_t kMostListed = 12;

std::string_view last_word(std::string_view name) {
  const std::size_t cut = name.find_last_of("./");
  return cut == std::string_view::npos ? name : name.substr(cut + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// "steps" of "train_steps" or "steps_per_loop".
bool begins_or_ends_with(const std::string& known, const std::string& wanted) {
  return wanted.size() > 2 && wanted.size() < known.size() &&
         (known.ends_with("_" + wanted) || known.starts_with(wanted + "_"));
}

// "lr" of "learning_rate".
bool has_initials(std::string_view known, std::string_view wanted) {
  const std::vector<std::string_view> words = split(known, '_');
  return wanted.size() > 1 && words.size() == wanted.size() &&
         std::ranges::equal(words, wanted, [](std::string_view word, char initial) {
           return !word.empty() && word.front() == initial;
         });
}

// Smaller is nearer; kLongest and above are no candidates.
std::size_t score(std::string_view wanted, std::string_view known) {
  const std::string a = lower(wanted), b = lower(known);
  if (a == b) return 0;
  const std::size_t whole = name_distance(a, b);
  const std::size_t bound = a.size() <= 3 ? 1 : std::max<std::size_t>(2, a.size() / 3);
  if (whole <= bound) return whole;
  if (begins_or_ends_with(b, a) || has_initials(b, a)) return bound;
  const std::string_view a_word = last_word(a), b_word = last_word(b);
  if (a_word.size() == a.size() && b_word.size() == b.size()) return kLongest;
  const std::size_t word = name_distance(a_word, b_word);
  return word <= a_word.size() / 3 ? word + 2 : kLongest;
}

}  // namespace

std::size_t name_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest_names(std::string_view wanted,
                                       const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, const std::string*>> found;
  if (wanted.empty() || wanted.size() > kLongest) return {};
  for (const std::string& name : known) {
    if (name.size() > kLongest) continue;
    const std::size_t distance = score(wanted, name);
    if (distance < kLongest) found.emplace_back(distance, &name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::string> names;
  for (const auto& [distance, name] : found) {
    // Once something is near, guesses that are farther only distract.
    if (names.size() == 3 || distance > found.front().first) break;
    if (std::find(names.begin(), names.end(), *name) == names.end()) names.push_back(*name);
  }
  return names;
}

std::string suggestion(std::string_view wanted, const std::vector<std::string>& known) {
  const std::vector<std::string> near = nearest_names(wanted, known);
  if (!near.empty()) {
    std::string text = "did you mean ";
    for (std::size_t i = 0; i < near.size(); ++i) {
      if (i > 0) text += i + 1 == near.size() ? " or " : ", ";
      text += "'" + near[i] + "'";
    }
    return text + "?";
  }
  if (known.empty()) return {};
  std::string text = "known: ";
  for (std::size_t i = 0; i < known.size() && i < kMostListed; ++i) {
    text += (i > 0 ? ", " : "") + known[i];
  }
  if (known.size() > kMostListed) text += ", ... (" + std::to_string(known.size()) + " in all)";
  return text;
}

}  // namespace trivet

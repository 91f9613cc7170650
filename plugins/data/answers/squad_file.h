// SPDX-License-Identifier: Apache-2.0
// Reads files in the form of SQuAD:
//
//   {"data": [{"paragraphs": [{"context": "...", "qas": [{"id": "...", "question": "...",
//     "is_impossible": false, "answers": [{"text": "...", "answer_start": 3}]}]}]}]}
//
// where answer_start counts characters (code points) of the context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trivet::data {

struct SquadAnswer {
  std::string text;
  std::size_t begin = 0;  // in the context, in bytes
};

struct SquadQuestion {
  std::string id, text;
  std::shared_ptr<const std::string> context;
  std::vector<SquadAnswer> answers;  // empty: it has none, or is not labeled
  bool labeled = true;               // false: the file does not say what the answer is
  std::string location;              // for messages: "FILE: data[0].paragraphs[1].qas[2] (ID)"
};

struct SquadRules {
  bool version_2 = false;     // questions may have no answer
  bool needs_answers = true;  // questions must be labeled
  std::uint64_t limit = 0;    // bytes of all files, decompressed
};

// All questions of the files, in order; all are labeled, or none. Throws InputError, with file and
// place, for what has another form, for an answer that is not in its context where it says, for
// what breaks a rule, for two questions of one id, and for files without any question.
std::vector<SquadQuestion> read_squad(const std::vector<std::string>& files,
                                      const SquadRules& rules);

}  // namespace trivet::data

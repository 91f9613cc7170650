// SPDX-License-Identifier: Apache-2.0
// The plugin "lm": language models.
#include "trivet/plugin.h"

#include "lm/answers/question_answering.h"
#include "lm/decoding/choices.h"
#include "lm/huggingface/export_command.h"
#include "lm/huggingface/import_command.h"
#include "lm/metrics/strict_accuracy.h"
#include "lm/metrics/token_metrics.h"
#include "lm/models/bert.h"
#include "lm/models/bert_classifier.h"
#include "lm/models/bert_question_answering.h"
#include "lm/models/dual_encoder.h"
#include "lm/models/electra.h"
#include "lm/models/language_model.h"
#include "lm/models/sequence_model.h"
#include "lm/preferences/preference_optimization.h"
#include "lm/tasks/language_modeling.h"
#include "lm/tasks/masked_lm.h"
#include "lm/tasks/ngram_baselines.h"
#include "lm/tasks/replaced_token_detection.h"
#include "lm/tasks/retrieval.h"
#include "lm/tasks/sentence_prediction.h"
#include "lm/tasks/seq2seq.h"
#include "lm/tasks/tagging.h"
#include "lm/text_metrics/bleu.h"
#include "lm/text_metrics/error_rate.h"
#include "lm/text_metrics/exact_match.h"
#include "lm/text_metrics/rouge_l.h"

namespace lm = trivet::lm;

TRIVET_PLUGIN(
    ({.name = "lm", .version = "1.0.0", .license = "Apache-2.0", .doc = "Language models."}),
    trivet::task<lm::LanguageModeling>("LanguageModeling",
                                       "Predicts each token of a text from those before it."),
    trivet::task<lm::MaskedLm>("MaskedLm", "Predicts masked tokens."),
    trivet::task<lm::PreferenceOptimization>(
        "PreferenceOptimization", "Learns which of two answers to a prompt is preferred (DPO)."),
    trivet::task<lm::QuestionAnswering>("QuestionAnswering",
                                        "Finds the answer to a question in a text (SQuAD)."),
    trivet::task<lm::ReplacedTokenDetection>("ReplacedTokenDetection",
                                             "Tells which tokens a generator replaced (ELECTRA)."),
    trivet::task<lm::Retrieval>("Retrieval", "Finds the text that belongs to a text."),
    trivet::task<lm::SentencePrediction>("SentencePrediction",
                                         "Predicts a class or a number for one or two sentences."),
    trivet::task<lm::Seq2Seq>("Seq2Seq", "Generates a target text from a source text."),
    trivet::task<lm::Tagging>("Tagging", "Predicts a tag for each word."),
    trivet::model<lm::Bert>("Bert", "Encoder that predicts masked tokens."),
    trivet::model<lm::BertClassifier>("BertClassifier", "Encoder with one prediction for a text."),
    trivet::model<lm::BertQuestionAnswering>("BertQuestionAnswering",
                                             "Encoder that finds where an answer starts and ends."),
    trivet::model<lm::BertTagger>("BertTagger", "Encoder with one prediction for each token."),
    trivet::model<lm::DualEncoder>("DualEncoder", "Encoder that embeds the texts of pairs."),
    trivet::model<lm::Electra>("Electra",
                               "Encoder that detects the tokens that a generator replaced."),
    trivet::model<lm::LanguageModel>("LanguageModel",
                                     "Transformer over tokens: embedding, blocks, softmax."),
    trivet::model<lm::SequenceModel>("SequenceModel", "Encoder and decoder over tokens."),
    trivet::command<lm::ImportCommand>("import", "Makes a run of a published GPT-2 or Llama"),
    trivet::command<lm::ExportCommand>("export", "Writes a run's model as a GPT-2 or Llama"),
    trivet::action<lm::NgramBaselines>("NgramBaselines",
                                       "Reports n-gram baselines next to each evaluation."),
    trivet::metric<lm::StrictAccuracy>("StrictAccuracy",
                                       "Share of the rows with every token right."),
    trivet::metric<lm::TokenMetrics>("TokenMetrics",
                                     "Perplexity, bits per byte and accuracy over tokens."),
    trivet::text_metric<lm::Bleu>("Bleu", "BLEU of a data set, as sacreBLEU computes it."),
    trivet::text_metric<lm::ErrorRate>("ErrorRate", "Word or character error rate."),
    trivet::text_metric<lm::ExactMatch>("ExactMatch", "Share of texts that equal a reference."),
    trivet::text_metric<lm::RougeL>("RougeL",
                                    "F-measure of the longest common subsequence of words."),
    trivet::text_metric<lm::TokenF1>("TokenF1", "F-measure of shared words, as in SQuAD."),
    trivet::token_constraint<lm::Choices>("Choices", "A generated text is one of a list."))

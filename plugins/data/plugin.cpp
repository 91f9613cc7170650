// SPDX-License-Identifier: Apache-2.0
// The plugin "data": inputs from files and synthetic inputs.
#include "trivet/plugin.h"

#include "data/answers/question_answering_input.h"
#include "data/images/idx_input.h"
#include "data/images/image_folder_input.h"
#include "data/images/image_records_input.h"
#include "data/images/image_tar_input.h"
#include "data/images/npy_input.h"
#include "data/images/synthetic_input.h"
#include "data/labeled/sentence_pairs_input.h"
#include "data/labeled/tagged_sequences_input.h"
#include "data/labeled/text_pairs_input.h"
#include "data/multi/multi_input.h"
#include "data/sequences/language_model_input.h"
#include "data/sequences/masked_language_model_input.h"
#include "data/sequences/preference_pairs_input.h"
#include "data/sequences/sequence_to_sequence_input.h"
#include "data/sequences/text_files_input.h"
#include "data/sequences/tokens_input.h"
#include "data/sources/jsonl_files.h"
#include "data/sources/mixture.h"
#include "data/sources/record_files.h"
#include "data/sources/text_files.h"
#include "data/tables/csv_input.h"
#include "data/tables/records_input.h"

namespace data = trivet::data;

TRIVET_PLUGIN(
    ({.name = "data", .version = "1.0.0", .license = "Apache-2.0", .doc = "Inputs."}),
    trivet::input<data::CsvInput>("Csv", "Rows of a CSV file, for tabular tasks."),
    trivet::input<data::IdxInput>("Idx", "Images and labels from IDX files (MNIST)."),
    trivet::input<data::ImageFolderInput>("ImageFolder",
                                          "JPEG and PNG files in a folder for each class."),
    trivet::input<data::ImageRecordsInput>("ImageRecords",
                                           "JPEG and PNG images in tf.Example records."),
    trivet::input<data::ImageTarInput>("ImageTar",
                                       "JPEG and PNG files with their classes in tar files."),
    trivet::input<data::LanguageModelInput>("LanguageModel",
                                            "Rows of a source's texts, for language models."),
    trivet::input<data::MaskedLanguageModelInput>(
        "MaskedLanguageModel", "Rows of a source's texts with masks, for encoders."),
    trivet::input<data::MultiInput>("Multi", "Several inputs that are read together."),
    trivet::input<data::NpyInput>("Npy", "Examples and labels from NumPy files."),
    trivet::input<data::PreferencePairsInput>(
        "PreferencePairs", "Prompts with a preferred and another answer, for language models."),
    trivet::input<data::RecordsInput>("Records", "Numbers and images of tf.Example records."),
    trivet::input<data::SentencePairsInput>("SentencePairs",
                                            "Rows of sentences with a label, for encoders."),
    trivet::input<data::SequenceToSequenceInput>(
        "SequenceToSequence", "Rows of pairs of texts, for encoders with decoders."),
    trivet::input<data::SyntheticInput>("Synthetic", "Synthetic images with learnable classes."),
    trivet::input<data::QuestionAnsweringInput>(
        "QuestionAnswering", "Questions with answers in a text, from SQuAD's files."),
    trivet::input<data::TextPairsInput>("TextPairs",
                                        "Two texts that belong together, for encoders."),
    trivet::input<data::TaggedSequencesInput>("TaggedSequences",
                                              "Rows of words with a tag each, for encoders."),
    trivet::input<data::TextFilesInput>("Text", "Rows of text files, for language models."),
    trivet::input<data::TokensInput>(
        "Tokens", "Rows of token files (trivet, llm.c, nanoGPT), for language models."),
    trivet::data_source<data::JsonlFiles>("Jsonl", "Lines of JSON objects."),
    trivet::data_source<data::Mixture>("Mixture", "Examples of several sources by rates."),
    trivet::data_source<data::RecordFiles>("TfRecord", "tf.Example records."),
    trivet::data_source<data::TextFiles>("TextFiles", "Text files, as documents."))

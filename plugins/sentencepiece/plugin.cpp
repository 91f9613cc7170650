// SPDX-License-Identifier: Apache-2.0
// The plugin "sentencepiece": models of Google's SentencePiece, run by its library.
#include "trivet/plugin.h"

#include "model.h"

TRIVET_PLUGIN(({.name = "sentencepiece",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "Models of SentencePiece, run by its own library."}),
              trivet::tokenizer<trivet::sentencepieces::Model>("Model", "A .model file."))

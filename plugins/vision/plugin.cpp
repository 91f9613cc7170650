// SPDX-License-Identifier: Apache-2.0
// The plugin "vision": image classification.
#include "trivet/plugin.h"

#include "cnn.h"
#include "experiments.h"
#include "image_classification.h"
#include "metrics.h"
#include "mlp.h"
#include "mobilenet.h"
#include "resnet.h"
#include "revnet.h"
#include "vanillanet.h"
#include "vit.h"

namespace vision = trivet::vision;

TRIVET_PLUGIN(
    ({.name = "vision", .version = "1.0.0", .license = "Apache-2.0", .doc = "Image models."}),
    trivet::task<vision::ImageClassification>("ImageClassification",
                                              "One or several labels per image."),
    trivet::model<vision::Mlp>("Mlp", "Fully connected layers over all pixels."),
    trivet::model<vision::Cnn>("Cnn", "Convolutions and pooling, then fully connected layers."),
    trivet::model<vision::ResNet>("ResNet",
                                  "Residual network: ResNet-10 to 420, ResNet-RS, or a small one."),
    trivet::model<vision::RevNet>("RevNet", "Reversible residual network: RevNet-38 to 104."),
    trivet::model<vision::MobileNet>("MobileNet", "MobileNetV2: inverted residual blocks."),
    trivet::model<vision::VanillaNet>("VanillaNet",
                                      "Deep convolutions without shortcuts and norms."),
    trivet::model<vision::Vit>("Vit", "Vision transformer over patches of the image."),
    trivet::metric<vision::Accuracy>("Accuracy", "Share of labels that have the largest logit."),
    trivet::metric<vision::BinaryAccuracy>(
        "BinaryAccuracy", "Share of classes that are predicted right, with several labels."),
    trivet::metric<vision::TopK>("TopK", "Share of labels among the k largest logits."),
    trivet::experiment<&vision::mnist_local, &vision::fits_its_inputs>(
        "mnist_local", "A small Mlp on synthetic images: runs anywhere, in seconds."))

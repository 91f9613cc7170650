// SPDX-License-Identifier: Apache-2.0
// The plugin "nn": layers.
#include "trivet/plugin.h"

#include "nn/activation/activations.h"
#include "nn/activation/composed_activations.h"
#include "nn/attention/alibi_bias.h"
#include "nn/attention/feed_forward.h"
#include "nn/attention/fourier_mixing.h"
#include "nn/attention/moe_feed_forward.h"
#include "nn/attention/multi_head_attention.h"
#include "nn/attention/positional_embedding.h"
#include "nn/attention/relative_bias.h"
#include "nn/attention/stacked_transformer.h"
#include "nn/attention/transformer_block.h"
#include "nn/basic/bregman_pca.h"
#include "nn/basic/containers.h"
#include "nn/basic/drop_path.h"
#include "nn/basic/dropout.h"
#include "nn/basic/embedding.h"
#include "nn/basic/gshard_shared_embedding_softmax.h"
#include "nn/basic/linear.h"
#include "nn/basic/softmax.h"
#include "nn/conv/causal_depthwise_conv1d.h"
#include "nn/conv/conv1d.h"
#include "nn/conv/conv2d.h"
#include "nn/conv/conv3d.h"
#include "nn/conv/flatten.h"
#include "nn/conv/pool2d.h"
#include "nn/encoders/bigbird_attention.h"
#include "nn/encoders/bottleneck_block.h"
#include "nn/encoders/kernel_attention.h"
#include "nn/encoders/linear_mixing.h"
#include "nn/encoders/reuse_block.h"
#include "nn/encoders/reuse_transformer.h"
#include "nn/encoders/xlnet_block.h"
#include "nn/encoders/xlnet_transformer.h"
#include "nn/norm/batch_norm.h"
#include "nn/norm/group_norm.h"
#include "nn/norm/layer_norm.h"
#include "nn/norm/no_norm.h"
#include "nn/norm/rms_norm.h"
#include "nn/norm/spectral_norm.h"
#include "nn/norm/weight_norm_l2.h"
#include "nn/quantization/activation_quantization.h"
#include "nn/quantization/fake_quantization.h"
#include "nn/recurrent/bidirectional.h"
#include "nn/recurrent/gru.h"
#include "nn/recurrent/lstm.h"
#include "nn/recurrent/s5.h"
#include "nn/recurrent/ssm.h"

namespace nn = trivet::nn;

TRIVET_PLUGIN(
    ({.name = "nn", .version = "1.0.0", .license = "Apache-2.0", .doc = "Layers."}),
    trivet::layer<nn::Linear>("Linear", "Linear layer, optional bias and activation."),
    trivet::layer<nn::Conv1d>("Conv1d", "Convolution over the positions of sequences."),
    trivet::layer<nn::CausalDepthwiseConv1d>("CausalDepthwiseConv1d",
                                             "Convolves each feature over earlier positions."),
    trivet::layer<nn::Conv2d>("Conv2d", "Convolution over images, optional bias and activation."),
    trivet::layer<nn::Conv3d>("Conv3d", "Convolution over volumes, optional bias and activation."),
    trivet::layer<nn::MaxPool2d>("MaxPool2d", "Largest value of windows over images."),
    trivet::layer<nn::AvgPool2d>("AvgPool2d", "Mean value of windows over images."),
    trivet::layer<nn::GlobalAvgPool2d>("GlobalAvgPool2d", "Mean value of all pixels of an image."),
    trivet::layer<nn::Flatten>("Flatten", "Flattens each example to a row."),
    trivet::layer<nn::Relu>("Relu", "max(x, 0)."),
    trivet::layer<nn::Gelu>("Gelu", "x times the normal distribution function of x."),
    trivet::layer<nn::Silu>("Silu", "x sigmoid(x), also known as swish."),
    trivet::layer<nn::Tanh>("Tanh", "Hyperbolic tangent."),
    trivet::layer<nn::Sigmoid>("Sigmoid", "1 / (1 + exp(-x))."),
    trivet::layer<nn::Relu6>("Relu6", "max(x, 0), and 6 at most."),
    trivet::layer<nn::LeakyRelu>("LeakyRelu", "x, and a small share of it below 0."),
    trivet::layer<nn::Elu>("Elu", "x, and alpha (exp(x) - 1) below 0."),
    trivet::layer<nn::SquaredRelu>("SquaredRelu", "max(x, 0) squared."),
    trivet::layer<nn::CubedRelu>("CubedRelu", "max(x, 0) to the third power."),
    trivet::layer<nn::Softplus>("Softplus", "ln(1 + exp(x))."),
    trivet::layer<nn::Exp>("Exp", "exp(x)."),
    trivet::layer<nn::SineRelu>("SineRelu", "x, and small waves below 0."),
    trivet::layer<nn::DropPath>("DropPath", "Drops whole examples at random in training."),
    trivet::layer<nn::Dropout>("Dropout", "Drops elements at random in training."),
    trivet::layer<nn::LayerNorm>("LayerNorm", "Normalizes each row of the last axis."),
    trivet::layer<nn::NoNorm>("NoNorm",
                              "Scale and bias where others have a norm, as in MobileBERT."),
    trivet::layer<nn::RmsNorm>("RmsNorm", "Divides each row of the last axis by its length."),
    trivet::layer<nn::GroupNorm>("GroupNorm", "Normalizes groups of channels of each example."),
    trivet::layer<nn::BatchNorm>("BatchNorm", "Normalizes each channel over the batch."),
    trivet::layer<nn::WeightNormL2>("WeightNormL2", "Weights with columns of learned lengths."),
    trivet::layer<nn::SpectralNorm>("SpectralNorm",
                                    "Weights divided by their largest singular value."),
    trivet::layer<nn::FakeQuantization>("FakeQuantization",
                                        "Weights rounded to integers times a scale."),
    trivet::layer<nn::ActivationQuantization>("ActivationQuantization",
                                              "Inputs rounded to integers times a scale."),
    trivet::layer<nn::BregmanPca>("BregmanPca", "Learns principal components of its input."),
    trivet::layer<nn::Sequential>("Sequential", "Layers applied in order."),
    trivet::layer<nn::Repeat>("Repeat",
                              "Repeats a layer, with separate weights for each repetition."),
    trivet::layer<nn::Residual>("Residual", "Adds a layer's output to its input."),
    trivet::layer<nn::Embedding>("Embedding", "Looks up rows of a table."),
    trivet::layer<nn::PositionalEmbedding>("PositionalEmbedding",
                                           "Adds sines and cosines of the positions."),
    trivet::layer<nn::TrainablePositionalEmbedding>("TrainablePositionalEmbedding",
                                                    "Adds a learned vector for each position."),
    trivet::layer<nn::FullSoftmax>("FullSoftmax", "Logits and cross entropy over all classes."),
    trivet::layer<nn::SharedEmbeddingSoftmax>("SharedEmbeddingSoftmax",
                                              "Embedding and softmax with shared weights."),
    trivet::layer<nn::GShardSharedEmbeddingSoftmax>(
        "GShardSharedEmbeddingSoftmax",
        "Embedding and softmax with shared weights and the loss of GShard."),
    trivet::layer<nn::FeedForward>("FeedForward", "Two linear layers, gated or not."),
    trivet::layer<nn::MultiHeadAttention>("MultiHeadAttention", "Attention with several heads."),
    trivet::layer<nn::StackedTransformer>("StackedTransformer",
                                          "A stack of blocks made from one template."),
    trivet::layer<nn::Lstm>("Lstm", "Long short-term memory over the positions of sequences."),
    trivet::layer<nn::Gru>("Gru", "Gated recurrent unit over the positions of sequences."),
    trivet::layer<nn::Ssm>("Ssm", "Diagonal state space models over the positions of sequences."),
    trivet::layer<nn::S5>("S5", "A diagonal state space model of all channels together."),
    trivet::layer<nn::Bidirectional>("Bidirectional", "Runs a recurrent layer in both directions."),
    trivet::layer<nn::RelativeBias>("RelativeBias",
                                    "A learned number for each head and distance, as in T5."),
    trivet::layer<nn::AlibiBias>("AlibiBias", "Lowers scores with the distance, as in ALiBi."),
    trivet::layer<nn::FourierMixing>(
        "FourierMixing", "Mixes positions by Fourier or Hartley transforms, as in FNet."),
    trivet::layer<nn::MoeFeedForward>("MoeFeedForward",
                                      "Mixture of experts: each position uses a few of them."),
    trivet::layer<nn::BigBirdAttention>("BigBirdAttention",
                                        "Attention of blocks: global, near and random ones."),
    trivet::layer<nn::KernelAttention>("KernelAttention",
                                       "Attention by features instead of a softmax (Performers)."),
    trivet::layer<nn::LinearMixing>("LinearMixing",
                                    "Mixes positions by learned matrices, as in Sparse Mixers."),
    trivet::layer<nn::ReuseBlock>("ReuseBlock",
                                  "Block that takes attention weights of the block below."),
    trivet::layer<nn::ReuseTransformer>("ReuseTransformer", "A stack of nn/ReuseBlock."),
    trivet::layer<nn::XlnetBlock>("XlnetBlock",
                                  "Block that attends by content, distance and segment (XLNet)."),
    trivet::layer<nn::XlnetTransformer>(
        "XlnetTransformer", "A stack of nn/XlnetBlock; may predict tokens in any order."),
    trivet::layer<nn::BottleneckBlock>("BottleneckBlock",
                                       "Thin block of attention and Mlps, as in MobileBERT."),
    trivet::layer<nn::TransformerBlock>("TransformerBlock",
                                        "Attention and an Mlp, with norms around them."))

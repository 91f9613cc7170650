// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/published_policies.h"

#include <array>

namespace trivet::data {
namespace {

using enum ImageOperation;

struct Step {
  ImageOperation op;
  double probability, magnitude;
};
using Policy = std::array<std::array<Step, 2>, 25>;

constexpr Policy kV0 = {{
    {{{Equalize, 0.8, 1}, {ShearY, 0.8, 4}}},
    {{{Color, 0.4, 9}, {Equalize, 0.6, 3}}},
    {{{Color, 0.4, 1}, {Rotate, 0.6, 8}}},
    {{{Solarize, 0.8, 3}, {Equalize, 0.4, 7}}},
    {{{Solarize, 0.4, 2}, {Solarize, 0.6, 2}}},
    {{{Color, 0.2, 0}, {Equalize, 0.8, 8}}},
    {{{Equalize, 0.4, 8}, {SolarizeAdd, 0.8, 3}}},
    {{{ShearX, 0.2, 9}, {Rotate, 0.6, 8}}},
    {{{Color, 0.6, 1}, {Equalize, 1, 2}}},
    {{{Invert, 0.4, 9}, {Rotate, 0.6, 0}}},
    {{{Equalize, 1, 9}, {ShearY, 0.6, 3}}},
    {{{Color, 0.4, 7}, {Equalize, 0.6, 0}}},
    {{{Posterize, 0.4, 6}, {AutoContrast, 0.4, 7}}},
    {{{Solarize, 0.6, 8}, {Color, 0.6, 9}}},
    {{{Solarize, 0.2, 4}, {Rotate, 0.8, 9}}},
    {{{Rotate, 1, 7}, {TranslateY, 0.8, 9}}},
    {{{ShearX, 0, 0}, {Solarize, 0.8, 4}}},
    {{{ShearY, 0.8, 0}, {Color, 0.6, 4}}},
    {{{Color, 1, 0}, {Rotate, 0.6, 2}}},
    {{{Equalize, 0.8, 4}, {Equalize, 0, 8}}},
    {{{Equalize, 1, 4}, {AutoContrast, 0.6, 2}}},
    {{{ShearY, 0.4, 7}, {SolarizeAdd, 0.6, 7}}},
    {{{Posterize, 0.8, 2}, {Solarize, 0.6, 10}}},
    {{{Solarize, 0.6, 8}, {Equalize, 0.6, 1}}},
    {{{Color, 0.8, 6}, {Rotate, 0.4, 5}}},
}};

constexpr Policy kImagenet = {{
    {{{Posterize, 0.4, 8}, {Rotate, 0.6, 9}}},  {{{Solarize, 0.6, 5}, {AutoContrast, 0.6, 5}}},
    {{{Equalize, 0.8, 8}, {Equalize, 0.6, 3}}}, {{{Posterize, 0.6, 7}, {Posterize, 0.6, 6}}},
    {{{Equalize, 0.4, 7}, {Solarize, 0.2, 4}}}, {{{Equalize, 0.4, 4}, {Rotate, 0.8, 8}}},
    {{{Solarize, 0.6, 3}, {Equalize, 0.6, 7}}}, {{{Posterize, 0.8, 5}, {Equalize, 1, 2}}},
    {{{Rotate, 0.2, 3}, {Solarize, 0.6, 8}}},   {{{Equalize, 0.6, 8}, {Posterize, 0.4, 6}}},
    {{{Rotate, 0.8, 8}, {Color, 0.4, 0}}},      {{{Rotate, 0.4, 9}, {Equalize, 0.6, 2}}},
    {{{Equalize, 0, 7}, {Equalize, 0.8, 8}}},   {{{Invert, 0.6, 4}, {Equalize, 1, 8}}},
    {{{Color, 0.6, 4}, {Contrast, 1, 8}}},      {{{Rotate, 0.8, 8}, {Color, 1, 2}}},
    {{{Color, 0.8, 8}, {Solarize, 0.8, 7}}},    {{{Sharpness, 0.4, 7}, {Invert, 0.6, 8}}},
    {{{ShearX, 0.6, 5}, {Equalize, 1, 9}}},     {{{Color, 0.4, 0}, {Equalize, 0.6, 3}}},
    {{{Equalize, 0.4, 7}, {Solarize, 0.2, 4}}}, {{{Solarize, 0.6, 5}, {AutoContrast, 0.6, 5}}},
    {{{Invert, 0.6, 4}, {Equalize, 1, 8}}},     {{{Color, 0.6, 4}, {Contrast, 1, 8}}},
    {{{Equalize, 0.8, 8}, {Equalize, 0.6, 3}}},
}};

constexpr Policy kCifar10 = {{
    {{{Invert, 0.1, 7}, {Contrast, 0.2, 6}}},
    {{{Rotate, 0.7, 2}, {TranslateX, 0.3, 9}}},
    {{{Sharpness, 0.8, 1}, {Sharpness, 0.9, 3}}},
    {{{ShearY, 0.5, 8}, {TranslateY, 0.7, 9}}},
    {{{AutoContrast, 0.5, 8}, {Equalize, 0.9, 2}}},
    {{{ShearY, 0.2, 7}, {Posterize, 0.3, 7}}},
    {{{Color, 0.4, 3}, {Brightness, 0.6, 7}}},
    {{{Sharpness, 0.3, 9}, {Brightness, 0.7, 9}}},
    {{{Equalize, 0.6, 5}, {Equalize, 0.5, 1}}},
    {{{Contrast, 0.6, 7}, {Sharpness, 0.6, 5}}},
    {{{Color, 0.7, 7}, {TranslateX, 0.5, 8}}},
    {{{Equalize, 0.3, 7}, {AutoContrast, 0.4, 8}}},
    {{{TranslateY, 0.4, 3}, {Sharpness, 0.2, 6}}},
    {{{Brightness, 0.9, 6}, {Color, 0.2, 8}}},
    {{{Solarize, 0.5, 2}, {Invert, 0, 3}}},
    {{{Equalize, 0.2, 0}, {AutoContrast, 0.6, 0}}},
    {{{Equalize, 0.2, 8}, {Equalize, 0.6, 4}}},
    {{{Color, 0.9, 9}, {Equalize, 0.6, 6}}},
    {{{AutoContrast, 0.8, 4}, {Solarize, 0.2, 8}}},
    {{{Brightness, 0.1, 3}, {Color, 0.7, 0}}},
    {{{Solarize, 0.4, 5}, {AutoContrast, 0.9, 3}}},
    {{{TranslateY, 0.9, 9}, {TranslateY, 0.7, 9}}},
    {{{AutoContrast, 0.9, 2}, {Solarize, 0.8, 3}}},
    {{{Equalize, 0.8, 8}, {Invert, 0.1, 3}}},
    {{{TranslateY, 0.7, 9}, {AutoContrast, 0.9, 1}}},
}};

constexpr Policy kSvhn = {{
    {{{ShearX, 0.9, 4}, {Invert, 0.2, 3}}},       {{{ShearY, 0.9, 8}, {Invert, 0.7, 5}}},
    {{{Equalize, 0.6, 5}, {Solarize, 0.6, 6}}},   {{{Invert, 0.9, 3}, {Equalize, 0.6, 3}}},
    {{{Equalize, 0.6, 1}, {Rotate, 0.9, 3}}},     {{{ShearX, 0.9, 4}, {AutoContrast, 0.8, 3}}},
    {{{ShearY, 0.9, 8}, {Invert, 0.4, 5}}},       {{{ShearY, 0.9, 5}, {Solarize, 0.2, 6}}},
    {{{Invert, 0.9, 6}, {AutoContrast, 0.8, 1}}}, {{{Equalize, 0.6, 3}, {Rotate, 0.9, 3}}},
    {{{ShearX, 0.9, 4}, {Solarize, 0.3, 3}}},     {{{ShearY, 0.8, 8}, {Invert, 0.7, 4}}},
    {{{Equalize, 0.9, 5}, {TranslateY, 0.6, 6}}}, {{{Invert, 0.9, 4}, {Equalize, 0.6, 7}}},
    {{{Contrast, 0.3, 3}, {Rotate, 0.8, 4}}},     {{{Invert, 0.8, 5}, {TranslateY, 0, 2}}},
    {{{ShearY, 0.7, 6}, {Solarize, 0.4, 8}}},     {{{Invert, 0.6, 4}, {Rotate, 0.8, 4}}},
    {{{ShearY, 0.3, 7}, {TranslateX, 0.9, 3}}},   {{{ShearX, 0.1, 6}, {Invert, 0.6, 5}}},
    {{{Solarize, 0.7, 2}, {TranslateY, 0.6, 7}}}, {{{ShearY, 0.8, 4}, {Invert, 0.8, 8}}},
    {{{ShearX, 0.7, 9}, {TranslateY, 0.8, 3}}},   {{{ShearY, 0.8, 5}, {AutoContrast, 0.7, 3}}},
    {{{ShearX, 0.7, 2}, {Invert, 0.1, 5}}},
}};

const Policy& table_of(AutoAugmentPolicy policy) {
  switch (policy) {
    case AutoAugmentPolicy::v0:
      return kV0;
    case AutoAugmentPolicy::imagenet:
      return kImagenet;
    case AutoAugmentPolicy::cifar10:
      return kCifar10;
    case AutoAugmentPolicy::svhn:
      break;
  }
  return kSvhn;
}

}  // namespace

std::vector<std::vector<PolicyStepConfig>> published_policy(AutoAugmentPolicy policy) {
  std::vector<std::vector<PolicyStepConfig>> sub_policies;
  for (const auto& sub_policy : table_of(policy)) {
    auto& steps = sub_policies.emplace_back();
    for (const Step& step : sub_policy) {
      steps.push_back({step.op, step.probability, step.magnitude});
    }
  }
  return sub_policies;
}

}  // namespace trivet::data

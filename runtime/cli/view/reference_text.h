// SPDX-License-Identifier: Apache-2.0
// Items and fields of configs as pages of Markdown, which docs/reference/ is made of.
#pragma once

#include <string>

#include "host/manifest.h"
#include "trivet/config/schema.h"

namespace trivet {

// A page with this title and these parts.
std::string reference_page(const std::string& title, const std::string& parts);

// A heading, the item's doc and the table of its fields. `schema` is null for items without any.
std::string item_reference(const ManifestItem& item, const Schema* schema);

// A section for the top level of a config file, and one for each table in it.
std::string config_reference(const Schema& schema);

}  // namespace trivet

// SPDX-License-Identifier: Apache-2.0
// Formats items and fields of configs as Markdown pages, for docs/reference/.
#pragma once

#include <string>

#include "host/manifest.h"
#include "trivet/config/schema.h"

namespace trivet {

// Returns a page with this title and these parts.
std::string reference_page(const std::string& title, const std::string& parts);

// Returns a heading, the item's doc and the table of its fields. `schema` is null for items without
// fields.
std::string item_reference(const ManifestItem& item, const Schema* schema);

// Returns a section for the top level of a config file and one for each of its tables.
std::string config_reference(const Schema& schema);

}  // namespace trivet

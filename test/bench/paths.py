# SPDX-License-Identifier: Apache-2.0
"""Where the benchmark's programs are."""
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Debian's modules are seen by Debian's interpreter only, which need not be the first on the path.
PYTHON = "/usr/bin/python3"
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")

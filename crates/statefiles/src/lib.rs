//! One state file, safely. Knows nothing of what is in it.

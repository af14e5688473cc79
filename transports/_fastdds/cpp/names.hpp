/// Names of shared memory. Fast DDS makes them up and has no setting for them, so that what a killed process leaves
/// cannot be told from what others use.
#pragma once

#include <string>

namespace fastdds {

/// From now on everything that Fast DDS of this process makes in shared memory has the run in its name. All nodes of a
/// trial call it with the same run, before they open Fast DDS.
void name_shared_memory_after(const std::string& run);

}  // namespace fastdds

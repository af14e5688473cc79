/// Names of shared memory. Fast DDS generates them and has no setting for them. Without the run in the names, leftovers
/// of a killed process could not be distinguished from files in use.
#pragma once

#include <string>

namespace fastdds {

/// From now on, adds the run to the names of everything that Fast DDS creates in shared memory in this process. All
/// nodes of a trial call this with the same run before they open Fast DDS.
void name_shared_memory_after(const std::string& run);

}  // namespace fastdds

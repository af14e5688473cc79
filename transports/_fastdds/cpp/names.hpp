/// Names of files in shared memory. Fast DDS generates these names and has no setting for them. Without the run in the
/// names, hopmeter could not distinguish the leftover files of a killed process from files in use.
#pragma once

#include <string>

namespace fastdds {

/// From now on, adds the run to the name of everything that Fast DDS creates in shared memory in this process. All
/// nodes of a trial call this function with the same run before they open Fast DDS.
void name_shared_memory_after(const std::string& run);

}  // namespace fastdds

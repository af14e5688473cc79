/// Names of shared memory. Fast DDS generates them and has no setting for them. Without the run in them, leftovers of a
/// killed process could not be distinguished from files in use.
#pragma once

#include <string>

namespace fastdds {

/// Puts the run into the names of everything that Fast DDS creates in shared memory in this process from now on. All
/// nodes of a trial call this with the same run before they open Fast DDS.
void name_shared_memory_after(const std::string& run);

}  // namespace fastdds

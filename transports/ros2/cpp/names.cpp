/// The names of Fast DDS's shared memory, where the rmw is one over Fast DDS: nodes in C++ link this, and those in
/// Python have it preloaded, so that all of a trial have the same names.
#include "names.hpp"

extern "C" void hopmeter_name_shared_memory_after(const char* run) { fastdds::name_shared_memory_after(run); }

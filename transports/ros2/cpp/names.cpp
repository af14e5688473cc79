/// The names of Fast DDS's shared memory, for an rmw over Fast DDS. Nodes in C++ link this library and nodes in Python
/// preload it, so that all nodes of a trial use the same names.
#include "names.hpp"

extern "C" void hopmeter_name_shared_memory_after(const char* run) { fastdds::name_shared_memory_after(run); }

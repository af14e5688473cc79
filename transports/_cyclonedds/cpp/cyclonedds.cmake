# For the nodes of transports over Cyclone DDS. If the library or its IDL compiler is missing,
# hopmeter_find_cyclonedds() stops a build of one adapter, with the remedy, and leaves the adapter out of a build of
# all.
set(HOPMETER_CYCLONE "${CMAKE_CURRENT_LIST_DIR}")

macro(hopmeter_find_cyclonedds)
  find_package(CycloneDDS QUIET)
  find_program(IDLC idlc DOC "The IDL compiler of Cyclone DDS")
  if(NOT CycloneDDS_FOUND OR NOT IDLC)
    hopmeter_lacks("Cyclone DDS or its compiler idlc is missing: install cyclonedds-dev and cyclonedds-tools")
  endif()
endmacro()

# hopmeter_use_cyclonedds(NODE IDL...) adds the shared code, and the types of each IDL as `cyclone/STEM.h`. The compiler
# receives the IDLC_OPTIONS.
function(hopmeter_use_cyclonedds NODE)
  set(types "${CMAKE_CURRENT_BINARY_DIR}/types")
  file(MAKE_DIRECTORY "${types}/cyclone")
  foreach(idl IN LISTS ARGN)
    get_filename_component(stem "${idl}" NAME_WE)
    set(source "${types}/cyclone/${stem}.c")
    add_custom_command(OUTPUT "${source}" "${types}/cyclone/${stem}.h" DEPENDS ${ARGN}
      COMMAND "${IDLC}" ${IDLC_OPTIONS} -o "${types}/cyclone" "${idl}" VERBATIM)
    list(APPEND generated "${source}")
  endforeach()

  target_sources(${NODE} PRIVATE ${generated})
  target_include_directories(${NODE} PRIVATE "${HOPMETER_CYCLONE}")
  target_include_directories(${NODE} SYSTEM PRIVATE "${types}")
  target_link_libraries(${NODE} PRIVATE CycloneDDS::ddsc)
endfunction()

# For the nodes of transports over Fast DDS. If the library or its generator is missing, hopmeter_find_fastdds() stops a
# build of one adapter, with the remedy, and leaves the adapter out of a build of all.
set(HOPMETER_FASTDDS "${CMAKE_CURRENT_LIST_DIR}")

macro(hopmeter_find_fastdds)
  find_package(fastrtps QUIET)
  find_program(FASTDDSGEN fastddsgen DOC "The generator of Fast DDS's type support")
  if(NOT fastrtps_FOUND OR NOT FASTDDSGEN)
    hopmeter_lacks("Fast DDS or its generator is missing: install libfastrtps-dev, libfastcdr-dev and fastddsgen")
  endif()
endmacro()

# hopmeter_use_fastdds(NODE IDL...) adds the shared code, and the types of each IDL as `fast/STEMPubSubTypes.h`.
function(hopmeter_use_fastdds NODE)
  set(types "${CMAKE_CURRENT_BINARY_DIR}/types")
  file(MAKE_DIRECTORY "${types}/fast" "${types}/preprocessed")
  foreach(idl IN LISTS ARGN)
    get_filename_component(stem "${idl}" NAME_WE)
    list(APPEND generated "${types}/fast/${stem}.cxx" "${types}/fast/${stem}PubSubTypes.cxx")
  endforeach()
  # Runs once for all, because starting Java takes long. Headers are named by their path from the generator's folder. By
  # default, preprocessed files would remain in the system's temporary folder.
  add_custom_command(OUTPUT ${generated} DEPENDS ${ARGN} WORKING_DIRECTORY "${types}/fast"
    COMMAND "${FASTDDSGEN}" -replace -d "${types}/fast" -t "${types}/preprocessed" ${ARGN} VERBATIM)
  # Warnings in generated code are not shown.
  set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS -w)

  target_sources(${NODE} PRIVATE ${generated})
  target_include_directories(${NODE} PRIVATE "${HOPMETER_FASTDDS}")
  target_include_directories(${NODE} SYSTEM PRIVATE "${types}")
  target_link_libraries(${NODE} PRIVATE fastrtps fastcdr)
endfunction()

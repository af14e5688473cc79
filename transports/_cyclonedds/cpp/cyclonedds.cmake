# Makes the node of a transport over Cyclone DDS: hopmeter_add_cyclone_node(NAME FILE.cpp IDL...), with what IDLC_OPTIONS
# tells the compiler of the IDL. Where the library or that compiler is missing, an adapter that is built alone stops with
# the remedy; where all are built, it is left out.
set(HOPMETER_CYCLONE "${CMAKE_CURRENT_LIST_DIR}")

function(hopmeter_add_cyclone_node NAME SOURCE)
  find_package(CycloneDDS QUIET)
  find_program(IDLC idlc DOC "The IDL compiler of Cyclone DDS")
  if(NOT CycloneDDS_FOUND OR NOT IDLC)
    set(missing "Cyclone DDS or its compiler idlc is missing: install cyclonedds-dev and cyclonedds-tools")
    if(PROJECT_IS_TOP_LEVEL)
      message(FATAL_ERROR "${missing}")
    endif()
    message(STATUS "${PROJECT_NAME} is left out, for ${missing}")
    return()
  endif()

  set(types "${CMAKE_CURRENT_BINARY_DIR}/types")
  file(MAKE_DIRECTORY "${types}")
  foreach(idl IN LISTS ARGN)
    get_filename_component(stem "${idl}" NAME_WE)
    add_custom_command(OUTPUT "${types}/${stem}.c" "${types}/${stem}.h" DEPENDS "${idl}"
      COMMAND "${IDLC}" ${IDLC_OPTIONS} -o "${types}" "${idl}" VERBATIM)
    list(APPEND generated "${types}/${stem}.c")
  endforeach()

  hopmeter_add_node(${NAME} "${SOURCE}" "${HOPMETER_CYCLONE}/configuration.cpp" "${HOPMETER_CYCLONE}/house.cpp"
    "${HOPMETER_CYCLONE}/qos.cpp" ${generated})
  target_include_directories(hopmeter-node-${NAME}-cpp PRIVATE "${HOPMETER_CYCLONE}")
  target_include_directories(hopmeter-node-${NAME}-cpp SYSTEM PRIVATE "${types}")
  target_link_libraries(hopmeter-node-${NAME}-cpp PRIVATE CycloneDDS::ddsc)
endfunction()

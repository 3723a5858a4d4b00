# P4SIM_TRAIN: p4sim is built twice. The first one counts where its time goes while it replays sample
# recordings, and the compiler lays out the second one by that. Nothing is measured, only counted, so
# the same sources and compiler give the same program. It is done when CMake configures; configure
# anew after larger changes of the sources.
if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  message(FATAL_ERROR "P4SIM_TRAIN needs GCC and a Release build")
endif()
set(training ${CMAKE_BINARY_DIR}/training)

function(train_step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  if(status)
    message(FATAL_ERROR "P4SIM_TRAIN: ${what} failed: ${said}")
  endif()
endfunction()

message(STATUS "Training: building p4sim with counters, running it on sample recordings")
file(REMOVE_RECURSE ${training}/counts)
train_step("configuring" ${CMAKE_COMMAND} -S ${CMAKE_SOURCE_DIR} -B ${training}/build -G ${CMAKE_GENERATOR}
  -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF
  "-DCMAKE_C_FLAGS=${CMAKE_C_FLAGS} -fprofile-generate=${training}/counts -fprofile-prefix-path=${training}/build")
train_step("building" ${CMAKE_COMMAND} --build ${training}/build --target p4sim)
# All 18 counters, as tools/bench has them.
set(events global_power_events:RUNNING,BSQ_cache_reference:RD_2ndL_MISS,page_walk_type,BPU_fetch_request)
string(APPEND events ,TC_deliver_mode:DI,TC_deliver_mode:BI,uop_queue_writes,retired_branch_type)
string(APPEND events ,x87_FP_uop,memory_cancel:64K_CONF,packed_DP_uop,load_port_replay)
string(APPEND events ,instr_retired,uops_retired:NBOGUS,branch_retired,machine_clear:CLEAR)
string(APPEND events ,resource_stall,uops_retired:NBOGUS:t=2)
set(samples ${CMAKE_SOURCE_DIR}/tests/traces/samples)
foreach(run "northwood;calculator" "northwood;pointer_chase" "northwood;matrix" "prescott;floats"
        "northwood-ht;calculator;matrix")
  list(POP_FRONT run model)
  set(traces "")
  foreach(recording IN LISTS run)
    list(APPEND traces --trace ${samples}/${recording}.p4t)
  endforeach()
  train_step("running ${run}" ${CMAKE_COMMAND} -E env P4SIM_CONFIGS=${CMAKE_SOURCE_DIR}/configs
    ${training}/build/p4sim stat --passes 1 -o /dev/null -m ${model} -e ${events} ${traces})
endforeach()
add_compile_options(-fprofile-use=${training}/counts -fprofile-prefix-path=${CMAKE_BINARY_DIR}
  -fprofile-partial-training -Wno-missing-profile -Wno-coverage-mismatch)

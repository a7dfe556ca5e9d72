// Makes chosen writes of the calling thread fail, as on a full or broken disk. The library under test calls `pwrite`,
// `write` and `writev`. The test executable defines these functions, so the linker takes them instead of libc's.
#pragma once

/// An `error` that kills the process with SIGKILL instead.
#define STORE_FAULTS_KILL -1

/// Lets the next `after` writes succeed, and the `count` writes after them fail with `error`, a value of `errno`.
void store_faults_arm(int after, int count, int error);

/// Ends the failures. Returns the number of writes since `store_faults_arm`.
int store_faults_disarm(void);

/// Starts to record the writes, syncs and renames of the calling thread.
void store_calls_record(void);

/// Ends the recording. Returns one line for each call, in order: the operation and the file's name without its
/// directory, for example `write mark.next`, `sync data.mdb`, `rename mark`. Equal neighbors are one line.
const char *store_calls_recorded(void);

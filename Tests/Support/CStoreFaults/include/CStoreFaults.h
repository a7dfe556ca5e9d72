// Makes chosen writes of the calling thread fail, as a full or broken disk does. The library under
// test calls `pwrite`, `write` and `writev`; this executable's own definitions stand before libc's.
#pragma once

/// An `error` that lets the process die instead, as by SIGKILL.
#define STORE_FAULTS_KILL -1

/// From now on, `after` writes succeed and the next `count` fail with `error`.
void store_faults_arm(int after, int count, int error);

/// Ends it and says how many writes there were.
int store_faults_disarm(void);

/// From now on, what this thread writes, syncs and renames is written down.
void store_calls_record(void);

/// Ends it. Lines of an operation and the file's name without its directory, in order: `write mark.next`,
/// `sync data.mdb`, `rename mark`. Of neighbours that are the same there is one.
const char *store_calls_recorded(void);

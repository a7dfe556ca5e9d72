// SQLite, and what Swift cannot call: a macro that is a cast, and a variadic switch.
#pragma once
#include <sqlite3.h>

/// Binds bytes that SQLite copies before it returns.
static inline int sqlite_bind_text_copied(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 size) {
    return sqlite3_bind_text64(statement, index, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int sqlite_bind_blob_copied(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 size) {
    return sqlite3_bind_blob64(statement, index, bytes, size, SQLITE_TRANSIENT);
}

/// No statement, whatever its text, may write into the file behind the tables' back.
static inline int sqlite_defend(sqlite3 *database) {
    int now = 0;
    return sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, &now);
}

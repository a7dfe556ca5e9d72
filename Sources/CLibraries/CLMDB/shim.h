// LMDB, and the one comparison that its scans need.
#pragma once
#include <lmdb.h>
#include <string.h>

/// Whether the key sorts before the bound, by bytes and then by length, as LMDB's tables sort.
static inline int lmdb_key_is_before(const MDB_val *key, const void *bound, size_t size) {
    size_t shorter = key->mv_size < size ? key->mv_size : size;
    int order = memcmp(key->mv_data, bound, shorter);
    return order ? order < 0 : key->mv_size < size;
}

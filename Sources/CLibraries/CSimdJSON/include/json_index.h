// The border between simdjson (C++) and Swift: one call checks a whole document and leaves a flat
// index of its values. simdjson finds the structure and checks UTF-8 at vector speed; the walk over
// that structure, which refuses everything else that is not strict JSON, is ours.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum json_kind {
    JSON_NULL = 1,
    JSON_FALSE,
    JSON_TRUE,
    JSON_INTEGER,   // fits Int64
    JSON_UNSIGNED,  // fits only UInt64
    JSON_DOUBLE,
    JSON_STRING,
    JSON_OBJECT,
    JSON_ARRAY
};

enum json_fault {
    JSON_OK,
    JSON_EMPTY,
    JSON_NOT_UTF8,
    JSON_CONTROL_CHARACTER,
    JSON_UNTERMINATED_STRING,
    JSON_MALFORMED,
    JSON_TRAILING_BYTES,
    JSON_BAD_ESCAPE,
    JSON_LONE_SURROGATE,
    JSON_TOO_DEEP,
    JSON_DUPLICATE_KEY,
    JSON_TOO_MANY_KEYS,
    JSON_NUMBER_OUT_OF_RANGE,
    JSON_NO_MEMORY
};

/// One value, in document order; a container's values follow it up to `next`. Offsets count from
/// `json_document.text`.
typedef struct json_node {
    uint32_t key_start, key_end;  // the member's name, unescaped; empty in arrays
    uint32_t start, end;          // the value as it was written
    uint32_t next;                // the node after this value and all inside it
    uint32_t low, high;           // number: the 64 bits of its value; string: its unescaped text, from and to;
                                  // container: how many values, and where the reader looks next
    uint32_t kind;                // enum json_kind; higher bits are the reader's own
    uint64_t names;               // object: a bit for each name it has, by json_name_bit; all bits where it has many
} json_node;

/// The bit of a name: one that is clear says that an object does not have the name. `word` holds its first
/// eight bytes, or all of a shorter one moved up, as a little-endian load and a shift leave it.
static inline uint64_t json_name_bit(uint64_t word, uint32_t length) {
    return (uint64_t)1 << ((word + length) * 0x9E3779B97F4A7C15u >> 58);
}

typedef struct json_document {
    const uint8_t *text;
    json_node *nodes;
    uint32_t node_count;
    uint32_t fault_offset;  // meaningful with every fault that the walk finds
    bool is_plain;          // all of it is ASCII, and nothing is escaped or U+007F: no text has a control character
} json_document;

typedef struct json_limits {
    uint32_t depth_max;  // at most JSON_DEPTH_CAP
    uint32_t keys_max;
} json_limits;

enum { JSON_DEPTH_CAP = 64, JSON_NUMBER_BYTES_MAX = 128, JSON_DOUBLE_BYTES_MAX = 32 };

/// Owns the copy of the document, simdjson's parser and the index; for one thread at a time.
typedef struct json_parser json_parser;

json_parser *json_parser_create(void);
void json_parser_destroy(json_parser *parser);

/// Copies `bytes` (shorter than 1 GiB), checks them and fills `document`, which stays valid until
/// the next call. Allocates only when the document is larger than any before it.
enum json_fault json_parser_read(json_parser *parser, const void *bytes, size_t length,
                                 json_limits limits, json_document *document);

/// Copies a string's bytes to `out`, which has room for 16 more, and says whether that is how they stand between
/// quotes: nearly always there is nothing to escape, so it looks at them on their way and decides once.
bool json_copy_plain(const void *bytes, size_t count, void *out);

/// Writes the shortest text that reads back as the same finite value; returns its length.
size_t json_write_double(double value, char out[JSON_DOUBLE_BYTES_MAX]);

#ifdef __cplusplus
}
#endif

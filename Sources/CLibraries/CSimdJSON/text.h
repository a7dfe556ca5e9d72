// Strings, numbers and words: the leaves of a document.
#pragma once
#include <cstdint>
#include <cstring>

#include "json_index.h"

namespace json {

/// Bytes that may be read behind the last one of a document; they are spaces.
constexpr uint32_t padding = 64;

/// As many bytes as every processor compares at once.
typedef uint8_t Block __attribute__((vector_size(16)));

inline Block block_at(const uint8_t *text) {
    Block block;
    memcpy(&block, text, sizeof block);
    return block;
}

/// Whether any byte has its top bit, as what a comparison found has.
inline bool has_top_bit(Block block) {
    uint64_t halves[2];
    memcpy(halves, &block, sizeof block);
    return ((halves[0] | halves[1]) & 0x8080808080808080u) != 0;
}

constexpr bool is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

/// The values of the first `count` of eight digits, at least one, moved up behind zeros, a byte each.
inline uint64_t digits_at(const uint8_t *text, uint32_t count) {
    uint64_t eight;
    memcpy(&eight, text, 8);
    return (eight ^ 0x3030303030303030u) << (64 - 8 * count);
}

/// Whether they were digits: above nine, adding reaches the top bit.
inline bool are_digits(uint64_t values) {
    return (((values + 0x7676767676767676u) | values) & 0x8080808080808080u) == 0;
}

/// Neighbours become numbers of two digits, of four, of eight.
inline uint64_t value_of_digits(uint64_t values) {
    const uint64_t twos = values * 10 + (values >> 8);
    const uint64_t mask = 0x000000FF000000FFu;
    const uint64_t hundreds = (twos & mask) * (100 + (1000000ull << 32));
    return (hundreds + (twos >> 16 & mask) * (1 + (10000ull << 32))) >> 32;
}

/// A number or a word ends where one of these stands; `1a` and `truex` are no values.
constexpr bool is_delimiter(uint8_t c) { return is_space(c) || c == ',' || c == ']' || c == '}'; }

/// Unescapes `from..<to` of `text` to `*spare`, which moves on. On a fault `*offset` says where.
json_fault unescape(uint8_t *text, uint32_t from, uint32_t to, uint32_t *spare, uint32_t *offset);

/// Reads the number at `node->start`: its end, its kind and its 64 bits.
json_fault read_number(const uint8_t *text, json_node *node, uint32_t *offset);

inline bool equal_keys(const uint8_t *text, const json_node &a, const json_node &b) {
    const uint32_t length = a.key_end - a.key_start;
    if (length != b.key_end - b.key_start) return false;
    uint64_t x, y;  // eight bytes are always there: the padding
    memcpy(&x, text + a.key_start, 8);
    memcpy(&y, text + b.key_start, 8);
    if (length < 8) return length == 0 || ((x ^ y) << (64 - 8 * length)) == 0;
    return x == y && memcmp(text + a.key_start, text + b.key_start, length) == 0;
}

inline uint64_t name_bit(const uint8_t *text, const json_node &a) {
    const uint32_t length = a.key_end - a.key_start;
    uint64_t word;
    memcpy(&word, text + a.key_start, 8);
    if (length < 8) word = length == 0 ? 0 : word << (64 - 8 * length);
    return json_name_bit(word, length);
}

}  // namespace json

#include "text.h"

namespace json {

static int hex_value(uint8_t c) {
    if (is_digit(c)) return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// The UTF-16 unit of the four digits at `at`, or -1.
static int32_t utf16_unit(const uint8_t *text, uint32_t at, uint32_t to) {
    if (to - at < 4) return -1;
    int32_t unit = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const int digit = hex_value(text[at + i]);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static uint32_t put_scalar(uint8_t *out, uint32_t scalar) {
    if (scalar < 0x80) {
        out[0] = uint8_t(scalar);
        return 1;
    }
    if (scalar < 0x800) {
        out[0] = uint8_t(0xC0 | scalar >> 6);
        out[1] = uint8_t(0x80 | (scalar & 0x3F));
        return 2;
    }
    if (scalar < 0x10000) {
        out[0] = uint8_t(0xE0 | scalar >> 12);
        out[1] = uint8_t(0x80 | (scalar >> 6 & 0x3F));
        out[2] = uint8_t(0x80 | (scalar & 0x3F));
        return 3;
    }
    out[0] = uint8_t(0xF0 | scalar >> 18);
    out[1] = uint8_t(0x80 | (scalar >> 12 & 0x3F));
    out[2] = uint8_t(0x80 | (scalar >> 6 & 0x3F));
    out[3] = uint8_t(0x80 | (scalar & 0x3F));
    return 4;
}

static uint8_t simple_escape(uint8_t c) {
    switch (c) {
        case '"': case '\\': case '/': return c;
        case 'b': return '\b';
        case 'f': return '\f';
        case 'n': return '\n';
        case 'r': return '\r';
        case 't': return '\t';
        default: return 0;
    }
}

json_fault unescape(uint8_t *text, uint32_t from, uint32_t to, uint32_t *spare, uint32_t *offset) {
    uint32_t out = *spare;
    uint32_t at = from;
    while (at < to) {
        const void *found = memchr(text + at, '\\', to - at);
        const uint32_t plain = found ? uint32_t((const uint8_t *)found - (text + at)) : to - at;
        memcpy(text + out, text + at, plain);
        out += plain;
        at += plain;
        if (at == to) break;
        *offset = at;
        const uint8_t letter = at + 1 < to ? text[at + 1] : 0;
        if (letter != 'u') {
            const uint8_t byte = simple_escape(letter);
            if (!byte) return JSON_BAD_ESCAPE;
            text[out++] = byte;
            at += 2;
            continue;
        }
        int32_t unit = utf16_unit(text, at + 2, to);
        if (unit < 0) return JSON_BAD_ESCAPE;
        at += 6;
        uint32_t scalar = uint32_t(unit);
        if (unit >= 0xD800 && unit < 0xE000) {
            const bool pair = unit < 0xDC00 && to - at >= 6 && text[at] == '\\' && text[at + 1] == 'u';
            const int32_t low = pair ? utf16_unit(text, at + 2, to) : -1;
            if (low < 0xDC00 || low >= 0xE000) return JSON_LONE_SURROGATE;
            scalar = 0x10000 + ((uint32_t(unit) - 0xD800) << 10) + (uint32_t(low) - 0xDC00);
            at += 6;
        }
        out += put_scalar(text + out, scalar);
    }
    *spare = out;
    return JSON_OK;
}

/// What stands escaped between quotes: control characters, quotes and backslashes.
static Block escapes(Block block) {
    return (Block)(block < 0x20) | (Block)(block == '"') | (Block)(block == '\\');
}

/// Of fewer than sixteen bytes.
static bool copy_few(const uint8_t *from, size_t count, uint8_t *to) {
    uint8_t bytes[sizeof(Block)];
    memset(bytes, ' ', sizeof bytes);
    if (count >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + count - 8, 8);
        memcpy(bytes, &first, 8);
        memcpy(bytes + count - 8, &last, 8);
    } else if (count >= 4) {
        uint32_t first, last;
        memcpy(&first, from, 4);
        memcpy(&last, from + count - 4, 4);
        memcpy(bytes, &first, 4);
        memcpy(bytes + count - 4, &last, 4);
    } else if (count > 0) {
        const uint8_t first = from[0], middle = from[count / 2], last = from[count - 1];
        bytes[0] = first;
        bytes[count / 2] = middle;
        bytes[count - 1] = last;
    }
    memcpy(to, bytes, sizeof bytes);
    return !has_top_bit(escapes(block_at(bytes)));
}

}  // namespace json

bool json_copy_plain(const void *bytes, size_t count, void *out) {
    const uint8_t *from = (const uint8_t *)bytes;
    uint8_t *to = (uint8_t *)out;
    if (count < sizeof(json::Block)) return json::copy_few(from, count, to);
    // The last block overlaps with the one before it.
    const size_t last = count - sizeof(json::Block);
    json::Block block = json::block_at(from + last);
    json::Block found = json::escapes(block);
    memcpy(to + last, &block, sizeof block);
    for (size_t at = 0; at < last; at += sizeof block) {
        block = json::block_at(from + at);
        found |= json::escapes(block);
        memcpy(to + at, &block, sizeof block);
    }
    return !json::has_top_bit(found);
}

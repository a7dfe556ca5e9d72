#include "walk.h"

#include <algorithm>

// What runs for every value is one piece of code: as calls it is a fifth slower.
#define inlined inline __attribute__((always_inline))

namespace json {

/// Up to this many members each name is compared with those before it; above, they are sorted when
/// the object closes, so that an object of thousands of names costs no quadratic time.
constexpr uint32_t compared_members_max = 32;

// Every read through `here()` is in bounds: behind the last structure stands the document's length,
// where the text is a space, which no rule accepts, so the walk ends there.

/// A string's closing quote is the last byte before the next structure that is not a space:
/// simdjson starts a structure at whatever else follows a quote.
inlined json_fault Walk::string(uint32_t at, uint32_t *raw_end, uint32_t *from, uint32_t *to) {
    cursor++;
    uint32_t close = here() - 1;
    if (text[close] != '"') {
        while (is_space(text[close])) close--;
        if (text[close] != '"') return fail(JSON_MALFORMED, at);
    }
    if (close <= at) return fail(JSON_MALFORMED, at);
    *raw_end = close + 1;
    *from = at + 1;
    *to = close;
    if (next_backslash > close) return JSON_OK;
    const uint32_t start = spare;
    const json_fault fault = unescape(text, at + 1, close, &spare, &offset);
    if (fault != JSON_OK) return fault;
    *from = start;
    *to = spare;
    next_backslash = find_backslash(close);
    return JSON_OK;
}

/// The cursor stands on the colon, and faults are reported there, where the name is known.
inlined json_fault Walk::check_key(uint32_t key_start, uint32_t key_end) {
    if (++keys > limits.keys_max) return fail(JSON_TOO_MANY_KEYS, here());
    const uint32_t object = stack[depth - 1];
    if (buffer.nodes[object].low >= compared_members_max) return JSON_OK;
    json_node key;
    key.key_start = key_start;
    key.key_end = key_end;
    const uint64_t bit = name_bit(text, key);
    const bool is_new = !(names[depth - 1] & bit);
    names[depth - 1] |= bit;
    if (is_new) return JSON_OK;
    for (uint32_t i = object + 1; i < buffer.count; i = buffer.nodes[i].next)
        if (equal_keys(text, buffer.nodes[i], key)) return fail(JSON_DUPLICATE_KEY, here());
    return JSON_OK;
}

inlined json_fault Walk::word(json_node &node, const char *spelling, uint32_t size, json_kind kind) {
    const uint32_t at = node.start;
    if (memcmp(text + at, spelling, size) != 0 || !is_delimiter(text[at + size]))
        return fail(JSON_MALFORMED, at);
    cursor++;
    node.end = at + size;
    node.kind = kind;
    return JSON_OK;
}

inlined json_fault Walk::open(json_kind kind, uint32_t at) {
    if (depth >= limits.depth_max) return fail(JSON_TOO_DEEP, at);
    cursor++;
    const uint32_t index = buffer.count - 1;
    json_node &node = buffer.nodes[index];
    node.kind = kind;
    node.low = 0;
    node.high = buffer.count;
    names[depth] = 0;
    stack[depth++] = index;
    return JSON_OK;
}

json_fault Walk::check_many_keys(uint32_t object) {
    if (!buffer.reserve_members(buffer.nodes[object].low)) return fail(JSON_NO_MEMORY, here());
    uint32_t *members = buffer.members;
    uint32_t count = 0;
    for (uint32_t i = object + 1; i < buffer.count; i = buffer.nodes[i].next) members[count++] = i;
    const auto compare = [this](uint32_t a, uint32_t b) {
        const json_node &x = buffer.nodes[a], &y = buffer.nodes[b];
        const uint32_t m = x.key_end - x.key_start, n = y.key_end - y.key_start;
        const int order = memcmp(text + x.key_start, text + y.key_start, std::min(m, n));
        return order != 0 ? order < 0 : m < n;
    };
    std::sort(members, members + count, compare);
    for (uint32_t i = 1; i < count; i++)
        if (equal_keys(text, buffer.nodes[members[i - 1]], buffer.nodes[members[i]]))
            return fail(JSON_DUPLICATE_KEY, buffer.nodes[std::max(members[i - 1], members[i])].start);
    return JSON_OK;
}

json_fault Walk::close() {
    const uint32_t index = stack[--depth];
    json_node &node = buffer.nodes[index];
    node.end = here() + 1;
    node.next = buffer.count;
    cursor++;
    const bool many = node.kind == JSON_OBJECT && node.low > compared_members_max;
    node.names = many ? ~uint64_t(0) : names[depth];
    return many ? check_many_keys(index) : JSON_OK;
}

/// A number ends where the next structure begins. Nearly all are whole, not negative and have up to sixteen
/// digits: two words, of which the first moves up behind zeros. False where it is another.
inlined bool Walk::short_integer(json_node &node) {
    const uint32_t at = node.start, end = here(), size = end - at;
    if (size > 16 || (text[at] == '0' && size > 1) || !is_delimiter(text[end])) return false;
    const uint32_t head = size > 8 ? size - 8 : size;
    uint64_t number = digits_at(text + at, head);
    if (!are_digits(number)) return false;
    number = value_of_digits(number);
    if (size > 8) {
        const uint64_t last = digits_at(text + end - 8, 8);
        if (!are_digits(last)) return false;
        number = number * 100000000 + value_of_digits(last);
    }
    node.end = end;
    node.kind = JSON_INTEGER;
    node.low = uint32_t(number);
    node.high = uint32_t(number >> 32);
    return true;
}

inlined json_fault Walk::value(uint32_t key_start, uint32_t key_end) {
    const uint32_t at = here();
    if (buffer.count == buffer.capacity && !buffer.grow()) return fail(JSON_NO_MEMORY, at);
    if (depth > 0) buffer.nodes[stack[depth - 1]].low++;
    json_node &node = buffer.nodes[buffer.count];
    node.key_start = key_start;
    node.key_end = key_end;
    node.start = at;
    node.next = ++buffer.count;
    switch (text[at]) {
        case '"': {
            node.kind = JSON_STRING;
            return string(at, &node.end, &node.low, &node.high);
        }
        case '{': return open(JSON_OBJECT, at);
        case '[': return open(JSON_ARRAY, at);
        case 't': return word(node, "true", 4, JSON_TRUE);
        case 'f': return word(node, "false", 5, JSON_FALSE);
        case 'n': return word(node, "null", 4, JSON_NULL);
        case '-': case '0': case '1': case '2': case '3': case '4':
        case '5': case '6': case '7': case '8': case '9':
            cursor++;
            return short_integer(node) ? JSON_OK : read_number(text, &node, &offset);
        default: return fail(JSON_MALFORMED, at);
    }
}

inlined json_fault Walk::member() {
    const uint32_t at = here();
    if (text[at] != '"') return fail(JSON_MALFORMED, at);
    uint32_t raw_end, from, to;
    json_fault fault = string(at, &raw_end, &from, &to);
    if (fault != JSON_OK) return fault;
    fault = check_key(from, to);
    if (fault != JSON_OK) return fault;
    if (text[here()] != ':') return fail(JSON_MALFORMED, here());
    cursor++;
    return value(from, to);
}

json_fault Walk::document() {
    json_fault fault = value(0, 0);
    while (fault == JSON_OK && depth > 0) {
        const json_node &container = buffer.nodes[stack[depth - 1]];
        const bool object = container.kind == JSON_OBJECT;
        const bool first = container.low == 0;
        const uint8_t c = text[here()];
        if (c == (object ? '}' : ']')) {
            fault = close();
            continue;
        }
        if (!first) {
            if (c != ',') return fail(JSON_MALFORMED, here());
            cursor++;
        }
        fault = object ? member() : value(0, 0);
    }
    if (fault == JSON_OK && cursor != structures) return fail(JSON_TRAILING_BYTES, here());
    return fault;
}

}  // namespace json

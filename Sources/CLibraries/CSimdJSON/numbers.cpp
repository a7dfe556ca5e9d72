#include <charconv>
#include <cmath>
#include <cstdlib>

#include "text.h"

namespace json {

static void put_bits(json_node *node, json_kind kind, uint64_t bits) {
    node->kind = kind;
    node->low = uint32_t(bits);
    node->high = uint32_t(bits >> 32);
}

/// What is too small to tell from zero is zero; what is too large is refused.
static json_fault read_double(const uint8_t *text, json_node *node) {
    const char *first = (const char *)text + node->start;
    double value = 0;
    const auto result = std::from_chars(first, (const char *)text + node->end, value);
    if (result.ec == std::errc::result_out_of_range) value = strtod(first, nullptr);
    if (!std::isfinite(value)) return JSON_NUMBER_OUT_OF_RANGE;
    uint64_t bits;
    memcpy(&bits, &value, 8);
    put_bits(node, JSON_DOUBLE, bits);
    return JSON_OK;
}

static json_fault put_integer(json_node *node, bool negative, uint64_t magnitude) {
    if (negative) {
        if (magnitude > uint64_t(INT64_MAX) + 1) return JSON_NUMBER_OUT_OF_RANGE;
        put_bits(node, JSON_INTEGER, 0 - magnitude);
    } else {
        put_bits(node, magnitude > uint64_t(INT64_MAX) ? JSON_UNSIGNED : JSON_INTEGER, magnitude);
    }
    return JSON_OK;
}

json_fault read_number(const uint8_t *text, json_node *node, uint32_t *offset) {
    uint32_t at = node->start;
    const bool negative = text[at] == '-';
    if (negative) at++;
    const uint32_t first = at;
    uint64_t magnitude = 0;
    bool overflow = false;
    while (is_digit(text[at])) {
        overflow |= __builtin_mul_overflow(magnitude, uint64_t(10), &magnitude);
        overflow |= __builtin_add_overflow(magnitude, uint64_t(text[at] - '0'), &magnitude);
        at++;
    }
    *offset = at;
    if (at == first || (at - first > 1 && text[first] == '0')) return JSON_MALFORMED;
    bool integer = true;
    if (text[at] == '.') {
        integer = false;
        const uint32_t fraction = ++at;
        while (is_digit(text[at])) at++;
        *offset = at;
        if (at == fraction) return JSON_MALFORMED;
    }
    if ((text[at] | 0x20) == 'e') {
        integer = false;
        at++;
        if (text[at] == '+' || text[at] == '-') at++;
        const uint32_t exponent = at;
        while (is_digit(text[at])) at++;
        *offset = at;
        if (at == exponent) return JSON_MALFORMED;
    }
    if (!is_delimiter(text[at])) return JSON_MALFORMED;
    node->end = at;
    *offset = node->start;
    if (at - node->start > JSON_NUMBER_BYTES_MAX) return JSON_NUMBER_OUT_OF_RANGE;
    if (!integer) return read_double(text, node);
    return overflow ? JSON_NUMBER_OUT_OF_RANGE : put_integer(node, negative, magnitude);
}

}  // namespace json

// From here on whole values are spelled with an exponent: as plain digits they would read as integers
// beyond 64 bits. Below, a negative zero needs its fraction for the same reason.
static const double plain_max = 9007199254740992.0;

size_t json_write_double(double value, char out[JSON_DOUBLE_BYTES_MAX]) {
    char *end = out + JSON_DOUBLE_BYTES_MAX;
    if (value == 0 && std::signbit(value)) {
        memcpy(out, "-0.0", 4);
        return 4;
    }
    const auto result = std::fabs(value) < plain_max
                            ? std::to_chars(out, end, value)
                            : std::to_chars(out, end, value, std::chars_format::scientific);
    return size_t(result.ptr - out);
}

#include "json_index.h"

#include <simdjson.h>

#include <memory>
#include <new>

#include "walk.h"

using simdjson::error_code;
using simdjson::internal::dom_parser_implementation;

struct json_parser {
    std::unique_ptr<dom_parser_implementation> stage;
    json::NodeBuffer buffer;
    uint8_t *text = nullptr;
    size_t capacity = 0;

    ~json_parser() { free(text); }

    bool reserve(size_t length);
};

/// Room for the document, its padding, and its unescaped strings, which are never longer than it.
bool json_parser::reserve(size_t length) {
    if (length <= capacity) return true;
    size_t wanted = 4096;
    while (wanted < length) wanted *= 2;
    void *larger = malloc(2 * (wanted + json::padding));
    if (!larger) return false;
    free(text);
    text = (uint8_t *)larger;
    capacity = 0;
    const error_code error =
        stage ? stage->allocate(wanted, JSON_DEPTH_CAP)
              : simdjson::get_active_implementation()->create_dom_parser_implementation(
                    wanted, JSON_DEPTH_CAP, stage);
    if (error) return false;
    capacity = wanted;
    return true;
}

json_parser *json_parser_create(void) { return new (std::nothrow) json_parser; }

void json_parser_destroy(json_parser *parser) { delete parser; }

static json_fault fault_of(error_code error) {
    switch (error) {
        case simdjson::EMPTY: return JSON_EMPTY;
        case simdjson::UTF8_ERROR: return JSON_NOT_UTF8;
        case simdjson::UNESCAPED_CHARS: return JSON_CONTROL_CHARACTER;
        case simdjson::UNCLOSED_STRING: return JSON_UNTERMINATED_STRING;
        case simdjson::MEMALLOC: return JSON_NO_MEMORY;
        default: return JSON_MALFORMED;
    }
}

/// By blocks, so it looks at the padding too.
static bool is_plain(const uint8_t *text, size_t length) {
    json::Block found = {};
    for (size_t at = 0; at < length; at += sizeof(json::Block)) {
        const json::Block block = json::block_at(text + at);
        found |= block | (json::Block)(block == '\\') | (json::Block)(block == 0x7F);
    }
    return !json::has_top_bit(found);
}

json_fault json_parser_read(json_parser *parser, const void *bytes, size_t length,
                            json_limits limits, json_document *document) {
    document->node_count = 0;
    document->fault_offset = 0;
    if (length == 0) return JSON_EMPTY;
    if (!parser->reserve(length)) return JSON_NO_MEMORY;
    memcpy(parser->text, bytes, length);
    memset(parser->text + length, ' ', json::padding);
    document->text = parser->text;
    document->is_plain = is_plain(parser->text, length);
    const error_code error =
        parser->stage->stage1(parser->text, length, simdjson::stage1_mode::regular);
    if (error) return fault_of(error);
    parser->buffer.count = 0;
    json::Walk walk(parser->text, uint32_t(length), parser->stage->structural_indexes.get(),
                    parser->stage->n_structural_indexes, limits, document->is_plain,
                    parser->buffer);
    const json_fault fault = walk.document();
    document->nodes = parser->buffer.nodes;
    document->node_count = parser->buffer.count;
    document->fault_offset = walk.offset;
    return fault;
}

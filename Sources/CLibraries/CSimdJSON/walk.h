// The walk over the structure that simdjson found: grammar, depth, keys, leaves.
#pragma once
#include <cstdlib>

#include "text.h"

namespace json {

/// The index under construction; it grows by doubling and is kept for the next document.
struct NodeBuffer {
    json_node *nodes = nullptr;
    uint32_t count = 0;
    uint32_t capacity = 0;
    /// Members of one large object, while its names are compared.
    uint32_t *members = nullptr;
    uint32_t members_capacity = 0;

    NodeBuffer() = default;
    NodeBuffer(const NodeBuffer &) = delete;
    NodeBuffer &operator=(const NodeBuffer &) = delete;
    ~NodeBuffer() {
        free(nodes);
        free(members);
    }

    bool reserve_members(uint32_t wanted) {
        if (wanted <= members_capacity) return true;
        void *larger = realloc(members, size_t(wanted) * sizeof(uint32_t));
        if (!larger) return false;
        members = (uint32_t *)larger;
        members_capacity = wanted;
        return true;
    }

    bool grow() {
        const uint32_t wanted = capacity ? capacity * 2 : 256;
        void *larger = realloc(nodes, size_t(wanted) * sizeof(json_node));
        if (!larger) return false;
        nodes = (json_node *)larger;
        capacity = wanted;
        return true;
    }
};

class Walk {
  public:
    /// `structure` holds the offset of every bracket, colon, comma and first byte of a leaf, then
    /// `length`. `text` has padding behind `length`, then as much room for unescaped text.
    Walk(uint8_t *text, uint32_t length, const uint32_t *structure, uint32_t structures,
         json_limits limits, bool is_plain, NodeBuffer &buffer)
        : text(text), length(length), structure(structure), structures(structures), limits(limits),
          buffer(buffer), spare(length + padding), next_backslash(is_plain ? length : find_backslash(0)) {}

    json_fault document();

    /// Where a fault was found.
    uint32_t offset = 0;

  private:
    json_fault value(uint32_t key_start, uint32_t key_end);
    json_fault member();
    json_fault open(json_kind kind, uint32_t at);
    json_fault close();
    bool short_integer(json_node &node);
    json_fault word(json_node &node, const char *spelling, uint32_t size, json_kind kind);
    json_fault string(uint32_t at, uint32_t *raw_end, uint32_t *from, uint32_t *to);
    json_fault check_key(uint32_t key_start, uint32_t key_end);
    json_fault check_many_keys(uint32_t object);

    json_fault fail(json_fault fault, uint32_t at) {
        offset = at;
        return fault;
    }

    uint32_t find_backslash(uint32_t from) const {
        const void *found = memchr(text + from, '\\', length - from);
        return found ? uint32_t((const uint8_t *)found - text) : length;
    }

    uint32_t here() const { return structure[cursor]; }

    uint8_t *text;
    uint32_t length;
    const uint32_t *structure;
    uint32_t structures;
    json_limits limits;
    NodeBuffer &buffer;
    uint32_t spare;

    uint32_t next_backslash;
    uint32_t cursor = 0;
    uint32_t keys = 0;
    uint32_t depth = 0;
    uint32_t stack[JSON_DEPTH_CAP];
    /// For every open object a bit for each name it has: most names are new at a glance.
    uint64_t names[JSON_DEPTH_CAP];
};

}  // namespace json

// CRC-32C (Castagnoli), the checksum of Kafka's record batches and of the broker's own files.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Continues `crc` over `length` bytes; begin with 0. Uses the processor's instruction where it has one.
uint32_t crc32c_extend(uint32_t crc, const void *_Nullable bytes, size_t length);

/// The same by table, for machines without the instruction and for the test that compares the two.
uint32_t crc32c_extend_by_table(uint32_t crc, const void *_Nullable bytes, size_t length);

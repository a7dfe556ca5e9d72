#include "crc32c.h"
#include <string.h>

// The polynomial 0x1EDC6F41, bit-reversed. One table row per half byte: small enough to live in L1,
// and only machines without a CRC instruction ever walk it.
static const uint32_t half_byte[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_extend_by_table(uint32_t crc, const void *bytes, size_t length) {
    const unsigned char *p = bytes;
    uint32_t c = ~crc;
    while (length--) {
        c ^= *p++;
        c = (c >> 4) ^ half_byte[c & 15];
        c = (c >> 4) ^ half_byte[c & 15];
    }
    return ~c;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2")))
static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t length) {
    uint64_t c = ~crc & 0xffffffffu;
    while (length >= 32) {
        uint64_t w[4];
        memcpy(w, p, 32);
        c = __builtin_ia32_crc32di(c, w[0]);
        c = __builtin_ia32_crc32di(c, w[1]);
        c = __builtin_ia32_crc32di(c, w[2]);
        c = __builtin_ia32_crc32di(c, w[3]);
        p += 32;
        length -= 32;
    }
    while (length >= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        c = __builtin_ia32_crc32di(c, w);
        p += 8;
        length -= 8;
    }
    uint32_t d = (uint32_t)c;
    while (length--) d = __builtin_ia32_crc32qi(d, *p++);
    return ~d;
}

uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t length) {
    if (__builtin_cpu_supports("sse4.2")) return by_instruction(crc, bytes, length);
    return crc32c_extend_by_table(crc, bytes, length);
}
#elif defined(__aarch64__)
__attribute__((target("crc")))
static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t length) {
    uint32_t c = ~crc;
    while (length >= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        c = __builtin_arm_crc32cd(c, w);
        p += 8;
        length -= 8;
    }
    while (length--) c = __builtin_arm_crc32cb(c, *p++);
    return ~c;
}

#include <sys/auxv.h>

// HWCAP_CRC32 of Linux on arm64.
uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t length) {
    if (getauxval(AT_HWCAP) & (1ul << 7)) return by_instruction(crc, bytes, length);
    return crc32c_extend_by_table(crc, bytes, length);
}
#else
uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t length) {
    return crc32c_extend_by_table(crc, bytes, length);
}
#endif

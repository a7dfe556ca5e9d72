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
#include <immintrin.h>

// The instruction takes three cycles and another can begin in each: three neighbouring blocks are
// walked at once, and the sums of the first two are then moved over what follows them. Moving over
// n bytes is a carry-less product with x^(8n - 33) modulo the polynomial, bit-reversed.
#define BLOCK 256
#define OVER_ONE_BLOCK 0xb9e02b86u
#define OVER_TWO_BLOCKS 0xdd7e3b0cu

__attribute__((target("sse4.2,pclmul")))
static uint64_t moved(uint64_t crc, uint32_t over) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc), _mm_cvtsi32_si128((int)over), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

__attribute__((target("sse4.2,pclmul")))
static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t length) {
    uint64_t c = ~crc & 0xffffffffu;
    while (length >= 3 * BLOCK) {
        uint64_t second = 0, third = 0, w[3];
        for (size_t i = 0; i < BLOCK; i += 8) {
            memcpy(&w[0], p + i, 8);
            memcpy(&w[1], p + BLOCK + i, 8);
            memcpy(&w[2], p + 2 * BLOCK + i, 8);
            c = _mm_crc32_u64(c, w[0]);
            second = _mm_crc32_u64(second, w[1]);
            third = _mm_crc32_u64(third, w[2]);
        }
        c = moved(c, OVER_TWO_BLOCKS) ^ moved(second, OVER_ONE_BLOCK) ^ third;
        p += 3 * BLOCK;
        length -= 3 * BLOCK;
    }
    while (length >= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        c = _mm_crc32_u64(c, w);
        p += 8;
        length -= 8;
    }
    uint32_t d = (uint32_t)c;
    while (length--) d = _mm_crc32_u8(d, *p++);
    return ~d;
}

uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t length) {
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        return by_instruction(crc, bytes, length);
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

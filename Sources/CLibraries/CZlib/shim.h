// zlib's initialisers are macros that pass the version and the size of `z_stream`.
#pragma once
#include <zlib.h>

/// An inflater for gzip framing.
static inline int zlib_inflate_gzip_init(z_stream *stream) { return inflateInit2(stream, 15 + 16); }

/// A deflater that writes gzip framing.
static inline int zlib_deflate_gzip_init(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

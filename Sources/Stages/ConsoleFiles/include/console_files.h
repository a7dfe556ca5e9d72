/// The files of `web/`, embedded into the binary.
#pragma once

#include <stddef.h>

struct console_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

extern const struct console_file console_files[];
extern const size_t console_files_count;

/// Returns a file by its index. Swift cannot see an array of unknown length.
static inline struct console_file console_file_at(size_t index) { return console_files[index]; }

/// The console's files, as they lie in `web/`, inside the binary.
#pragma once

#include <stddef.h>

struct console_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

extern const struct console_file console_files[];
extern const size_t console_files_count;

/// Swift sees no array of a length that it does not know.
static inline struct console_file console_file_at(size_t index) { return console_files[index]; }

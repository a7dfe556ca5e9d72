// nghttp2, as Debian ships it (1.52).
#pragma once
#include <sys/types.h>
#include <nghttp2/nghttp2.h>

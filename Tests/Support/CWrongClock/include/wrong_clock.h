// A library for LD_PRELOAD that gives a process a wrong wall clock. The environment variable WRONG_CLOCK names a file.
// Its first eight bytes are the difference to the true time in nanoseconds. The process follows each change of the
// file at once. The monotonic clock stays right, as on a machine whose wall clock is set.
#pragma once

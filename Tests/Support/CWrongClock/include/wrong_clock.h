// Preloaded into a process, it makes that process's clock wrong by as many nanoseconds as the first eight bytes of the
// file $WRONG_CLOCK say, from the moment they are written. The monotonic clock stays right, as on a machine whose clock
// somebody sets.
#pragma once

import CSimulatedLibrary
import Glibc
import Lifecycle

/// The clocks that the code of the current process reads. A sleep in that code moves them.
enum MachineClock {
    static var now: Instant { Instant(nanoseconds: simulated_steady_nanoseconds()) }

    /// Lets the process that runs next read this time.
    ///
    /// - Parameter wallOffset: its wall clock less the steady clock, in nanoseconds.
    static func set(_ now: Instant, wallOffset: Int64) { simulated_clock_set(now.nanoseconds, wallOffset) }

    /// Lets time pass within a call that waits.
    static func advance(milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }
}

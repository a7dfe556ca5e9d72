import Glibc
import Lifecycle
import Testing

@testable import HTTPServer

/// The deadlines of one connection without a server, with times that the test chooses. A body must keep a minimum rate
/// in each window, and end within a minute. `enforceDeadline` checks both.
struct ConnectionDeadlinesTests {
    private let limits = HTTPLimits()
    private let start = Instant(nanoseconds: 0)

    private func at(_ milliseconds: Int) -> Instant { start.advanced(byMilliseconds: milliseconds) }

    /// Runs a test with the clock of a connection whose body has begun. Its descriptor is `/dev/null`.
    private func withBody(_ test: (inout ConnectionDeadlines) throws -> Void) rethrows {
        let descriptor = open("/dev/null", O_WRONLY)
        defer { close(descriptor) }
        var clock = ConnectionDeadlines(descriptor: descriptor, now: start)
        clock.enter(.body(ConnectionDeadlines.BodyProgress(startingAt: start)), now: start)
        try test(&clock)
    }

    private func isCut(_ clock: ConnectionDeadlines) -> Bool {
        if case .cut = clock.phase { true } else { false }
    }

    @Test func `a fast start does not pay for a later silence`() {
        withBody { clock in
            clock.recordBody(receivedBytes: 1 << 20)
            _ = clock.enforceDeadline(now: at(5001), limits: limits)
            #expect(!isCut(clock))
            _ = clock.enforceDeadline(now: at(10_001), limits: limits)
            #expect(!isCut(clock), "the second check is one window after the first")
            _ = clock.enforceDeadline(now: at(10_002), limits: limits)
            #expect(isCut(clock))
        }
    }

    @Test func `a body that keeps its rate may take a minute but not longer`() {
        withBody { clock in
            for second in 1...60 {
                clock.recordBody(receivedBytes: second * 1024)
                _ = clock.enforceDeadline(now: at(second * 1000), limits: limits)
            }
            #expect(!isCut(clock))
            clock.recordBody(receivedBytes: 61 * 1024)
            _ = clock.enforceDeadline(now: at(60_001), limits: limits)
            #expect(isCut(clock))
        }
    }

    @Test func `a mebibyte at eighteen kibibytes a second is in time`() {
        withBody { clock in
            for second in 1...57 {
                clock.recordBody(receivedBytes: second * 18 * 1024)
                _ = clock.enforceDeadline(now: at(second * 1000), limits: limits)
            }
            #expect(!isCut(clock) && 57 * 18 * 1024 > 1 << 20)
        }
    }

    @Test func `one byte too few in any window cuts the connection`() {
        withBody { clock in
            clock.recordBody(receivedBytes: 6 * 1024)
            _ = clock.enforceDeadline(now: at(6000), limits: limits)
            #expect(!isCut(clock))
            clock.recordBody(receivedBytes: 12 * 1024 - 1)
            _ = clock.enforceDeadline(now: at(11_000), limits: limits)
            #expect(!isCut(clock))
            _ = clock.enforceDeadline(now: at(12_000), limits: limits)
            #expect(isCut(clock))
        }
    }
}

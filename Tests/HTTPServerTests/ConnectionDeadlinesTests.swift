import Glibc
import Lifecycle
import Testing

@testable import HTTPServer

/// The deadlines of one connection without a server, with times that the test chooses. A body must keep a minimum rate
/// in each window, and end within a minute. `enforceDeadline` checks both. By default the rate is 1,024 bytes per second,
/// and a window is longer than 5 s.
struct ConnectionDeadlinesTests {
    private let limits = HTTPLimits()
    private let start = Instant(nanoseconds: 0)

    private func at(_ milliseconds: Int) -> Instant { start.advanced(byMilliseconds: milliseconds) }

    /// Runs a test with the deadlines of a connection whose body has begun. Its descriptor is `/dev/null`.
    private func withBody(_ test: (inout ConnectionDeadlines) throws -> Void) rethrows {
        let descriptor = open("/dev/null", O_WRONLY)
        defer { close(descriptor) }
        var deadlines = ConnectionDeadlines(descriptor: descriptor, now: start)
        deadlines.enter(.body(ConnectionDeadlines.BodyProgress(startingAt: start)), now: start)
        try test(&deadlines)
    }

    private func isCut(_ deadlines: ConnectionDeadlines) -> Bool {
        if case .cut = deadlines.phase { true } else { false }
    }

    @Test func `a fast start does not pay for a later silence`() {
        withBody { deadlines in
            deadlines.recordBody(receivedBytes: 1 << 20)
            _ = deadlines.enforceDeadline(now: at(5001), limits: limits)
            #expect(!isCut(deadlines))
            _ = deadlines.enforceDeadline(now: at(10_001), limits: limits)
            #expect(!isCut(deadlines), "the second check is one window after the first")
            _ = deadlines.enforceDeadline(now: at(10_002), limits: limits)
            #expect(isCut(deadlines))
        }
    }

    @Test func `a body that keeps its rate may take a minute but not longer`() {
        withBody { deadlines in
            for second in 1...60 {
                deadlines.recordBody(receivedBytes: second * 1024)
                _ = deadlines.enforceDeadline(now: at(second * 1000), limits: limits)
            }
            #expect(!isCut(deadlines))
            deadlines.recordBody(receivedBytes: 61 * 1024)
            _ = deadlines.enforceDeadline(now: at(60_001), limits: limits)
            #expect(isCut(deadlines))
        }
    }

    @Test func `a mebibyte at eighteen kibibytes a second is in time`() {
        withBody { deadlines in
            for second in 1...57 {
                deadlines.recordBody(receivedBytes: second * 18 * 1024)
                _ = deadlines.enforceDeadline(now: at(second * 1000), limits: limits)
            }
            #expect(57 * 18 * 1024 > 1 << 20, "a mebibyte has arrived")
            #expect(!isCut(deadlines))
        }
    }

    @Test func `one byte too few in any window cuts the connection`() {
        withBody { deadlines in
            deadlines.recordBody(receivedBytes: 6 * 1024)
            _ = deadlines.enforceDeadline(now: at(6000), limits: limits)
            #expect(!isCut(deadlines))
            deadlines.recordBody(receivedBytes: 12 * 1024 - 1)
            _ = deadlines.enforceDeadline(now: at(11_000), limits: limits)
            #expect(!isCut(deadlines), "the window is not over")
            _ = deadlines.enforceDeadline(now: at(12_000), limits: limits)
            #expect(isCut(deadlines))
        }
    }
}

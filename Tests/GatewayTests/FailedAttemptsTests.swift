import Lifecycle
import Testing

@testable import Gateway

/// Returns the instant at some milliseconds after the start.
private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

/// The delay of peers that fail to authenticate.
struct FailedAttemptsTests {
    @Test func `a peer's delay grows with its failures, up to a limit`() {
        var failures = FailedAttempts(now: at(0))
        let delays = (0..<20).map { _ in failures.recordFailure(of: "p", now: at(0)) }
        // In milliseconds. The first ten failures are not delayed.
        #expect(delays.prefix(10).allSatisfy { $0 == 0 })
        #expect(delays.dropFirst(10) == [100, 200, 400, 800, 1600, 3200, 3200, 3200, 3200, 3200])
        #expect(failures.recordFailure(of: "other", now: at(0)) == 0)
    }

    @Test func `a peer is forgotten after two silent windows, and not within the first`() {
        var failures = FailedAttempts(now: at(0))
        // Twelve failures are two more than are free. A window is a minute.
        for _ in 0..<12 { _ = failures.recordFailure(of: "p", now: at(0)) }
        #expect(failures.recordFailure(of: "p", now: at(59_000)) > 0)
        #expect(
            failures.recordFailure(of: "p", now: at(61_000)) > 0,
            "the peer is remembered from the previous window")
        #expect(failures.recordFailure(of: "p", now: at(200_000)) == 0)
    }

    @Test func `any number of failing peers keeps the table within its bound`() {
        var failures = FailedAttempts(now: at(0))
        for peer in 0..<100_000 { _ = failures.recordFailure(of: "\(peer)", now: at(0)) }
        #expect(failures.peerCount <= 2 * FailedAttempts.peersMax)
    }
}

/// The name by which the requests of an address are counted.
struct PeerNetworkTests {
    @Test(arguments: [
        ("10.0.0.1", "10.0.0.1"), ("2001:db8:1:2:3:4:5:6", "v6:20.1.d.b8.0.1.0.2"),
        ("2001:db8:1:2:ffff::1", "v6:20.1.d.b8.0.1.0.2"), ("::1", "v6:0.0.0.0.0.0.0.0"), ("x:y", "x:y"),
    ])
    func `an IPv6 address counts by its network`(_ address: String, _ network: String) {
        #expect(PeerNetwork.network(of: address) == network)
    }
}

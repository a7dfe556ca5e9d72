import Lifecycle
import Settings
import Simulation
import Testing

@testable import Gateway

/// Returns the instant at some milliseconds after the start.
private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

/// The number of new installations that an address may report, and the parts of this rule: the memory of known
/// installations, and the public addresses.
struct InstallationQuotaTests {
    private static let hour = 3_600_000

    @Test func `an address may report a number of new installations, and its known ones at any time`() throws
    {
        var quota = InstallationQuota(perPeerAndHour: 100, now: at(0))
        for installation in 0..<100 {
            #expect(quota.charge(installation: installation, at: "p", now: at(0)) == nil)
        }
        let refusal = quota.charge(installation: 100, at: "p", now: at(0))
        let exceeded = try #require(refusal)
        // One in a hundredth of an hour, and one millisecond more to be sure.
        #expect(exceeded.limit == .peerInstallations && exceeded.waitMilliseconds == Self.hour / 100 + 1)
        #expect(
            exceeded.message
                == "gateway.peer-installations: your address may report 100 new installations per hour at this gateway; wait and send the report again"
        )
        for installation in 0..<100 {
            #expect(quota.charge(installation: installation, at: "p", now: at(1)) == nil, "it is known")
        }
        #expect(quota.charge(installation: 100, at: "q", now: at(1)) == nil, "another address")
        #expect(quota.charge(installation: 5, at: "q", now: at(1)) == nil)
        let waited = at(exceeded.waitMilliseconds)
        #expect(quota.charge(installation: 100, at: "p", now: waited) == nil)
        #expect(quota.charge(installation: 101, at: "p", now: waited) != nil)
    }

    @Test func `an installation that reports every hour is charged once`() {
        var quota = InstallationQuota(perPeerAndHour: 1, now: at(0))
        for hour in 0..<24 {
            #expect(quota.charge(installation: 1, at: "p", now: at(hour * Self.hour)) == nil)
            if hour == 0 { #expect(quota.charge(installation: 2, at: "p", now: at(1)) != nil) }
        }
        #expect(quota.charge(installation: 3, at: "p", now: at(23 * Self.hour)) == nil, "one an hour")
    }

    @Test func `pairs are remembered for one to two windows`() {
        var pairs = RecentPairs(windowMilliseconds: 1000, now: at(0))
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let hashes = (0..<10_000).map { _ in UInt64.random(in: 0 ... .max, using: &random) }
        for hash in hashes { pairs.insert(hash) }
        for hash in hashes { #expect(pairs.contains(hash, now: at(999)) == true, "seed \(seed)") }
        // A pair that is found counts as seen again.
        #expect(pairs.contains(hashes[0], now: at(1500)) == true)
        #expect(pairs.contains(hashes[0], now: at(2500)) == true)
        #expect(hashes.dropFirst().count { pairs.contains($0, now: at(2500)) } < 100, "seed \(seed)")
        #expect(pairs.contains(hashes[0], now: at(10_000)) == false)
    }

    @Test func `with a million pairs in a window few others are taken for known`() {
        var pairs = RecentPairs(windowMilliseconds: 1000, now: at(0))
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<1_000_000 { pairs.insert(UInt64.random(in: 0 ... .max, using: &random)) }
        let others = (0..<10_000).map { _ in UInt64.random(in: 0 ... .max, using: &random) }
        #expect(others.count { pairs.contains($0, now: at(0)) } < 100, "seed \(seed)")
    }

    @Test(arguments: [
        ("203.0.113.9", true), ("2001:db8::1", true), ("172.32.0.1", true), ("100.128.0.1", true),
        ("127.0.0.1", false), ("::1", false), ("10.1.2.3", false), ("172.16.0.1", false),
        ("192.168.1.1", false), ("169.254.1.1", false), ("100.64.0.1", false), ("fe80::1", false),
        ("fd00::1", false), ("::ffff:10.1.2.3", false),
    ])
    func `an address of a private network is not public`(_ address: String, _ isPublic: Bool) {
        #expect(IPAddress(address)?.isPublic == isPublic)
    }
}

import Catalog
import CatalogRecords
import Lifecycle
import Simulation
import Testing

@testable import Gateway

/// Some milliseconds after the start.
private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

/// Returns a limiter of requests per second.
private func limiter(perSecond: Int, entriesMax: Int = 1000) -> RateLimiter {
    RateLimiter(countMax: perSecond, windowMilliseconds: 1000, entriesMax: entriesMax, now: at(0))
}

/// The rate of a key, an address or an installation.
struct RateLimiterTests {
    @Test func `a key may use one second's allowance at once, and then its rate`() {
        var rates = limiter(perSecond: 100)
        for _ in 0..<100 { #expect(rates.charge(to: "k", now: at(0)) == nil) }
        #expect(rates.charge(to: "k", now: at(0)) == 11)
        #expect(rates.charge(to: "k", now: at(10)) == nil)
        #expect(rates.charge(to: "k", now: at(10)) != nil)
        #expect(rates.charge(to: "other", now: at(10)) == nil, "keys do not share")
        for _ in 0..<100 { #expect(rates.charge(to: "k", now: at(60_000)) == nil) }
        #expect(
            rates.charge(to: "k", now: at(60_000)) != nil, "a long pause saves up one second's worth")
    }

    @Test func `over any period a key gets at most its rate plus one second's allowance`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<trialCount(base: 50) {
            let perSecond = Int.random(in: 1...2000, using: &random)
            var rates = limiter(perSecond: perSecond)
            var (now, taken) = (0, 0)
            for _ in 0..<2000 {
                now += random.number(below: 5)
                if rates.charge(to: "k", now: at(now)) == nil { taken += 1 }
            }
            #expect(taken <= perSecond + now * perSecond / 1000 + 1, "seed \(seed)")
        }
    }

    @Test func `a request that waits for the given time may pass`() {
        for (count, window) in [
            (1, 1000), (3, 1000), (100, 1000), (10_000, 1000), (300, 60_000), (1, 60_000),
        ] {
            var rates = RateLimiter(countMax: count, windowMilliseconds: window, entriesMax: 10, now: at(0))
            var wait: Int?
            repeat { wait = rates.charge(to: "k", now: at(0)) } while wait == nil
            #expect(rates.charge(to: "k", now: at(wait ?? 0)) == nil, "\(count) in \(window) ms")
        }
    }

    @Test func `forgetting an entry after a silent window changes nothing`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<trialCount(base: 20) {
            var rates = limiter(perSecond: 5)
            // The model remembers all entries forever: the level in thousandths and the time of the count.
            var levels: [Int: (level: Int, at: Int)] = [:]
            var now = 0
            for _ in 0..<2000 {
                now += random.number(below: 40)
                let key = random.number(below: 20)
                let known = levels[key] ?? (5000, now)
                var level = min(5000, known.level + (now - known.at) * 5)
                let mayPass = level >= 1000
                if mayPass { level -= 1000 }
                levels[key] = (level, now)
                #expect((rates.charge(to: key, now: at(now)) == nil) == mayPass, "seed \(seed)")
            }
        }
    }

    @Test func `an amount is taken as a whole or not at all`() {
        var rates = limiter(perSecond: 100)
        #expect(rates.charge(60, to: "k", now: at(0)) == nil)
        #expect(rates.charge(60, to: "k", now: at(0)) == 201)
        #expect(rates.charge(40, to: "k", now: at(0)) == nil, "a refused amount costs nothing")
        #expect(rates.charge(0, to: "k", now: at(0)) == nil, "an empty body costs nothing")
    }

    @Test func `an amount above the limit costs the allowance of a whole window`() {
        var rates = limiter(perSecond: 100)
        #expect(rates.charge(1_000_000, to: "k", now: at(0)) == nil)
        #expect(rates.charge(1_000_000, to: "k", now: at(500)) == 501)
        #expect(rates.charge(1_000_000, to: "k", now: at(1001)) == nil)
    }

    @Test func `any number of names keeps the rate table within its bound`() {
        var rates = limiter(perSecond: 5, entriesMax: 1000)
        for key in 0..<100_000 { _ = rates.charge(to: key, now: at(key / 1000)) }
        #expect(rates.entryCount <= 2000)
    }
}

/// The rates of a caller, by request, byte and report.
struct CallerRatesTests {
    private func caller(_ role: APIKey.Role, at peer: String, as number: Int = 0) -> RequestCaller {
        var key = APIKeyText.makeKey(app: "shop", role: role, atMilliseconds: 0).record
        key.id = "key\(number)"
        return RequestCaller(key: key, app: shop, address: peer, peer: peer)
    }

    @Test func `each unit of an address and of a key has its own rate`() {
        var limits = GatewayLimits()
        (limits.requestsPerPeerAndSecondMax, limits.requestsPerKeyAndSecondMax) = (2, 3)
        (limits.bytesPerPeerAndSecondMax, limits.bytesPerKeyAndSecondMax) = (20, 30)
        (limits.reportsPerPeerAndSecondMax, limits.reportsPerKeyAndSecondMax) = (200, 300)
        let rates = CallerRates(limits: limits, now: at(0))
        let (first, second) = (caller(.report, at: "p"), caller(.report, at: "q"))
        func requests(_ caller: RequestCaller) -> RateLimit? {
            rates.chargeRequest(of: caller, bytes: 0, at: at(0))?.limit
        }
        #expect([first, first, first].map(requests) == [nil, nil, .peerRequests])
        #expect([second, second].map(requests) == [nil, .keyRequests])
        #expect(requests(caller(.report, at: "q", as: 1)) == .peerRequests, "both requests of q counted")
        #expect(requests(caller(.report, at: "r", as: 1)) == nil)
        func bytes(_ count: Int, _ caller: RequestCaller) -> RateLimit? {
            rates.chargeChunks(of: caller, bytes: count, at: at(0))?.limit
        }
        #expect(bytes(15, first) == nil && bytes(6, first) == .peerBytes && bytes(5, first) == nil)
        #expect(bytes(11, second) == .keyBytes)
        #expect(rates.chargeRequest(of: caller(.send, at: "p", as: 2), bytes: 30, at: at(0)) == nil)
        #expect(
            rates.chargeRequest(of: caller(.send, at: "p", as: 2), bytes: 1, at: at(0))?.limit == .keyBytes,
            "a backend is limited by its key only")
        func reports(_ count: Int, _ caller: RequestCaller) -> RateLimit? {
            rates.chargeReports(of: caller, count: count, at: at(0))?.limit
        }
        #expect(reports(200, first) == nil && reports(1, first) == .peerReports)
        #expect(reports(101, second) == .keyReports)
        #expect(rates.chargeReports(of: first, count: 1, at: at(5)) == nil, "200 a second are one in 5 ms")
    }
}

/// The number of new installations that an address may report.
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

/// The delay of peers that fail to authenticate.
struct FailedAttemptsTests {
    @Test func `a peer's delay grows with its failures, up to a limit`() {
        var failures = FailedAttempts(now: at(0))
        let delays = (0..<20).map { _ in failures.recordFailure(of: "p", now: at(0)) }
        #expect(delays.prefix(10).allSatisfy { $0 == 0 })
        #expect(delays.dropFirst(10) == [100, 200, 400, 800, 1600, 3200, 3200, 3200, 3200, 3200])
        #expect(failures.recordFailure(of: "other", now: at(0)) == 0)
    }

    @Test func `a peer is forgotten after two silent windows, and not within the first`() {
        var failures = FailedAttempts(now: at(0))
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

    @Test(arguments: [
        ("10.0.0.1", "10.0.0.1"), ("2001:db8:1:2:3:4:5:6", "v6:20.1.d.b8.0.1.0.2"),
        ("2001:db8:1:2:ffff::1", "v6:20.1.d.b8.0.1.0.2"), ("::1", "v6:0.0.0.0.0.0.0.0"), ("x:y", "x:y"),
    ])
    func `an IPv6 address counts by its network`(_ address: String, _ network: String) {
        #expect(PeerNetwork.network(of: address) == network)
    }
}

/// Requests that wait until their records are stored.
struct PendingRequestsTests {
    @Test func `a request settles with its last record, and is stored if all records are`() {
        var waiting = PendingRequests<String>()
        let twoRecords = waiting.add("a", records: 2)
        let threeRecords = waiting.add("b", records: 3)
        #expect(waiting.settle(tag: twoRecords, isStored: true) == nil)
        #expect(waiting.settle(tag: threeRecords, isStored: false) == nil)
        let first = waiting.settle(tag: twoRecords, isStored: true)
        #expect(first?.0 == "a" && first?.isStored == true)
        let second = waiting.settle(tag: threeRecords, records: 2, isStored: true)
        #expect(second?.0 == "b" && second?.isStored == false)
        #expect(waiting.count == 0)
        #expect(waiting.add("c", records: 1) <= 1, "a free index is reused")
    }

    @Test func `removed requests are returned once, and their indexes are reused`() {
        var waiting = PendingRequests<String>()
        _ = waiting.settle(tag: waiting.add("a", records: 1), isStored: true)
        _ = waiting.add("b", records: 2)
        _ = waiting.add("c", records: 2)
        #expect(waiting.removeAll().sorted() == ["b", "c"])
        #expect(waiting.count == 0 && waiting.add("d", records: 1) == 0)
    }

    @Test func `each request settles exactly once, in any order of its records`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        var waiting = PendingRequests<Int>()
        var open: [(tag: UInt64, unsettled: Int, isStored: Bool, request: Int)] = []
        var (addedCount, settledCount) = (0, 0)
        for _ in 0..<trialCount(base: 20_000) {
            if open.count < 50, random.number(below: 2) == 0 {
                let records = 1 + random.number(below: 5)
                open.append((waiting.add(addedCount, records: records), records, true, addedCount))
                addedCount += 1
            } else if !open.isEmpty {
                let index = random.number(below: open.count)
                let isStored = random.number(below: 10) > 0
                if !isStored { open[index].isStored = false }
                open[index].unsettled -= 1
                let done = waiting.settle(tag: open[index].tag, isStored: isStored)
                #expect((done != nil) == (open[index].unsettled == 0), "seed \(seed)")
                guard let done else { continue }
                #expect(
                    done.0 == open[index].request && done.isStored == open[index].isStored, "seed \(seed)")
                open.remove(at: index)
                settledCount += 1
            }
        }
        #expect(waiting.count == addedCount - settledCount)
    }
}

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
        for _ in 0..<100 { #expect(rates.recordRequest(of: "k", now: at(0)) == nil) }
        #expect(rates.recordRequest(of: "k", now: at(0)) == 11)
        #expect(rates.recordRequest(of: "k", now: at(10)) == nil)
        #expect(rates.recordRequest(of: "k", now: at(10)) != nil)
        #expect(rates.recordRequest(of: "other", now: at(10)) == nil, "keys do not share")
        for _ in 0..<100 { #expect(rates.recordRequest(of: "k", now: at(60_000)) == nil) }
        #expect(
            rates.recordRequest(of: "k", now: at(60_000)) != nil, "a long pause saves up one second's worth")
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
                if rates.recordRequest(of: "k", now: at(now)) == nil { taken += 1 }
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
            repeat { wait = rates.recordRequest(of: "k", now: at(0)) } while wait == nil
            #expect(rates.recordRequest(of: "k", now: at(wait ?? 0)) == nil, "\(count) in \(window) ms")
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
                #expect((rates.recordRequest(of: key, now: at(now)) == nil) == mayPass, "seed \(seed)")
            }
        }
    }

    @Test func `any number of names keeps the rate table within its bound`() {
        var rates = limiter(perSecond: 5, entriesMax: 1000)
        for key in 0..<100_000 { _ = rates.recordRequest(of: key, now: at(key / 1000)) }
        #expect(rates.entryCount <= 2000)
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

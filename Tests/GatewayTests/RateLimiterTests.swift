import Lifecycle
import Simulation
import Testing

@testable import Gateway

/// Returns the instant at some milliseconds after the start.
private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

/// Returns a limiter of requests per second.
private func limiter(perSecond: Int, entriesMax: Int = 1000) -> RateLimiter {
    RateLimiter(countMax: perSecond, windowMilliseconds: 1000, entriesMax: entriesMax, now: at(0))
}

/// The rate of a key, an address or an installation. `charge` returns nil if the request may pass, and otherwise the
/// milliseconds after which it may. Each key has an allowance of one second's requests, which grows with the time.
struct RateLimiterTests {
    @Test func `a key may use one second's allowance at once, and then its rate`() {
        var rates = limiter(perSecond: 100)
        for _ in 0..<100 { #expect(rates.charge(to: "k", now: at(0)) == nil) }
        // One request in 10 ms, and one millisecond more to be sure.
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
            // The model never forgets an entry: its allowance in thousandths of a request, and the time of the charge.
            // The allowance grows by five thousandths in a millisecond.
            var allowances: [Int: (thousandths: Int, at: Int)] = [:]
            var now = 0
            for _ in 0..<2000 {
                now += random.number(below: 40)
                let key = random.number(below: 20)
                let known = allowances[key] ?? (5000, now)
                var thousandths = min(5000, known.thousandths + (now - known.at) * 5)
                let mayPass = thousandths >= 1000
                if mayPass { thousandths -= 1000 }
                allowances[key] = (thousandths, now)
                #expect((rates.charge(to: key, now: at(now)) == nil) == mayPass, "seed \(seed)")
            }
        }
    }

    @Test func `an amount is taken as a whole or not at all`() {
        var rates = limiter(perSecond: 100)
        #expect(rates.charge(60, to: "k", now: at(0)) == nil)
        // 20 of the 60 are missing, and one comes every 10 ms.
        #expect(rates.charge(60, to: "k", now: at(0)) == 201)
        #expect(rates.charge(40, to: "k", now: at(0)) == nil, "a refused amount costs nothing")
        #expect(rates.charge(0, to: "k", now: at(0)) == nil, "an empty body costs nothing")
    }

    @Test func `an amount above the limit costs the allowance of a whole window`() {
        var rates = limiter(perSecond: 100)
        #expect(rates.charge(1_000_000, to: "k", now: at(0)) == nil)
        // Half of the allowance has come back.
        #expect(rates.charge(1_000_000, to: "k", now: at(500)) == 501)
        #expect(rates.charge(1_000_000, to: "k", now: at(1001)) == nil)
    }

    @Test func `any number of names keeps the rate table within its bound`() {
        var rates = limiter(perSecond: 5, entriesMax: 1000)
        for key in 0..<100_000 { _ = rates.charge(to: key, now: at(key / 1000)) }
        #expect(rates.entryCount <= 2000)
    }
}

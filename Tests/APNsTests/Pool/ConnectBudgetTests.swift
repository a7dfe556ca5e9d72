import Lifecycle
import Testing

@testable import APNs

/// Returns the instant this many milliseconds after the start.
private func instant(_ milliseconds: Int) -> Instant {
    Instant(nanoseconds: 0).advanced(byMilliseconds: milliseconds)
}

/// The limit of new connections to a host, which all pools of a process share. A pool asks again and again (`take`)
/// until it gets a connect. In these tests each pool belongs to another app, and its number stands for the app.
@Suite struct ConnectBudgetTests {
    @Test func `a pool without a connection goes before a pool that wants one more`() {
        // One connect each second.
        var budget = ConnectBudget()
        let first = ConnectRequest(isForFirstConnection: true)
        let further = ConnectRequest(isForFirstConnection: false)
        let taken = [
            budget.take(for: 1, request: further, at: instant(0)),
            budget.take(for: 2, request: first, at: instant(500)),
            budget.take(for: 1, request: further, at: instant(1_000)),
            budget.take(for: 2, request: first, at: instant(1_050)),
            budget.take(for: 1, request: further, at: instant(2_049)),
            budget.take(for: 1, request: further, at: instant(2_050)),
        ]
        #expect(taken == [true, false, false, true, false, true])
    }

    @Test func `two hundred apps whose connections fail cost another app a quarter of the budget`() {
        var budget = ConnectBudget(intervalMilliseconds: 100)
        var connectCounts: [Int: Int] = [:]
        var lastConnectAt: [Int: Instant] = [:]
        for time in stride(from: 0, to: 60_000, by: 50) {
            for app in 0...200 {
                // App 200 works, and asks for as many connections as possible.
                let fails = app < 200
                let request = ConnectRequest(
                    isForFirstConnection: fails, failures: fails ? 5 : 0, lastConnectAt: lastConnectAt[app])
                guard budget.take(for: UInt64(app), request: request, at: instant(time)) else { continue }
                connectCounts[app, default: 0] += 1
                lastConnectAt[app] = instant(time)
            }
        }
        // The budget has 600 connects in this minute, and a quarter of them is 150.
        let workingCount = connectCounts[200, default: 0]
        #expect(workingCount >= 440, "\(workingCount) of 600")
        let failing = connectCounts.filter { $0.key < 200 }
        #expect(failing.count >= 140 && failing.values.allSatisfy { $0 <= 2 }, "the failing apps take turns")
    }

    @Test func `pools with the same claim take turns`() {
        var budget = ConnectBudget(intervalMilliseconds: 100)
        var connectCounts: [Int: Int] = [:]
        var lastConnectAt: [Int: Instant] = [:]
        for time in stride(from: 0, to: 10_000, by: 50) {
            for app in 0..<5 {
                let request = ConnectRequest(isForFirstConnection: true, lastConnectAt: lastConnectAt[app])
                guard budget.take(for: UInt64(app), request: request, at: instant(time)) else { continue }
                connectCounts[app, default: 0] += 1
                lastConnectAt[app] = instant(time)
            }
        }
        #expect((0..<5).allSatisfy { (19...21).contains(connectCounts[$0, default: 0]) }, "\(connectCounts)")
    }

    @Test func `a pool that has stopped asking delays the others by at most two seconds`() {
        var budget = ConnectBudget()
        let taken = [
            budget.take(for: 1, request: ConnectRequest(isForFirstConnection: true), at: instant(0)),
            budget.take(for: 2, request: ConnectRequest(isForFirstConnection: true), at: instant(900)),
        ]
        #expect(taken == [true, false])
        let takenAt = stride(from: 1_000, to: 5_000, by: 50).first {
            budget.take(for: 3, request: ConnectRequest(isForFirstConnection: false), at: instant($0))
        }
        // Pool 2 asked last at 900.
        #expect((takenAt ?? .max) <= 2_900)
    }
}

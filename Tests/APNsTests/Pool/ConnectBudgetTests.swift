import Lifecycle
import Testing

@testable import APNs

/// Some milliseconds after the start.
private func at(_ milliseconds: Int) -> Instant {
    Instant(nanoseconds: 0).advanced(byMilliseconds: milliseconds)
}

/// The limit of new connections to a host, which all pools of a process share.
@Suite struct ConnectBudgetTests {
    @Test func `a pool without a connection goes before a pool that wants one more`() {
        var budget = ConnectBudget()
        let first = ConnectRequest(isForFirstConnection: true)
        let further = ConnectRequest(isForFirstConnection: false)
        let taken = [
            budget.take(for: 1, request: further, at: at(0)),
            budget.take(for: 2, request: first, at: at(500)),
            budget.take(for: 1, request: further, at: at(1_000)),
            budget.take(for: 2, request: first, at: at(1_050)),
            budget.take(for: 1, request: further, at: at(2_049)),
            budget.take(for: 1, request: further, at: at(2_050)),
        ]
        #expect(taken == [true, false, false, true, false, true])
    }

    @Test func `two hundred apps whose connections fail cost another app a quarter of the budget`() {
        var budget = ConnectBudget(intervalMilliseconds: 100)
        var connects: [Int: Int] = [:]
        var lastConnectAt: [Int: Instant] = [:]
        for time in stride(from: 0, to: 60_000, by: 50) {
            for app in 0...200 {
                // App 200 works, and asks for as many connections as possible.
                let request = ConnectRequest(
                    isForFirstConnection: app < 200, failures: app < 200 ? 5 : 0,
                    lastConnectAt: lastConnectAt[app])
                guard budget.take(for: UInt64(app), request: request, at: at(time)) else { continue }
                connects[app, default: 0] += 1
                lastConnectAt[app] = at(time)
            }
        }
        #expect(connects[200, default: 0] >= 440, "\(connects[200, default: 0]) of 600")
        let failing = connects.filter { $0.key < 200 }
        #expect(failing.count >= 140 && failing.values.allSatisfy { $0 <= 2 }, "the failing apps take turns")
    }

    @Test func `pools with the same claim take turns`() {
        var budget = ConnectBudget(intervalMilliseconds: 100)
        var connects: [Int: Int] = [:]
        var lastConnectAt: [Int: Instant] = [:]
        for time in stride(from: 0, to: 10_000, by: 50) {
            for app in 0..<5 {
                let request = ConnectRequest(isForFirstConnection: true, lastConnectAt: lastConnectAt[app])
                guard budget.take(for: UInt64(app), request: request, at: at(time)) else { continue }
                connects[app, default: 0] += 1
                lastConnectAt[app] = at(time)
            }
        }
        #expect((0..<5).allSatisfy { (19...21).contains(connects[$0, default: 0]) }, "\(connects)")
    }

    @Test func `a pool that has stopped asking delays the others by at most two seconds`() {
        var budget = ConnectBudget()
        let taken = [
            budget.take(for: 1, request: ConnectRequest(isForFirstConnection: true), at: at(0)),
            budget.take(for: 2, request: ConnectRequest(isForFirstConnection: true), at: at(900)),
        ]
        #expect(taken == [true, false])
        let takenAt = stride(from: 1_000, to: 5_000, by: 50).first {
            budget.take(for: 3, request: ConnectRequest(isForFirstConnection: false), at: at($0))
        }
        #expect((takenAt ?? .max) <= 2_900)
    }
}

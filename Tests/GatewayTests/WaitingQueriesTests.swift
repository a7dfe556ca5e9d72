import Testing

@testable import Gateway

/// The limits of the queries that wait for the insight stage: of one key, and of all.
struct WaitingQueriesTests {
    @Test func `one key cannot take all waiting places of insight`() {
        var waiting = WaitingQueries()
        let admissions = (0..<21).map { _ in waiting.add(of: "shop/busy") }
        #expect(admissions.count { $0 == .asked } == GatewayLimits.queriesPerKeyWaitingMax)
        #expect(admissions.last == .tooManyOfKey && waiting.add(of: "shop/calm") == .asked)
        waiting.remove(of: "shop/busy")
        #expect(waiting.add(of: "shop/busy") == .asked)
        var full = WaitingQueries()
        for number in 0..<GatewayLimits.queriesWaitingMax { _ = full.add(of: "key-\(number)") }
        #expect(full.add(of: "another") == .overloaded)
    }
}

import Testing

@testable import Gateway

/// The limits of the queries that wait for the insight stage: of one key, and of all.
struct WaitingQueriesTests {
    @Test func `one key cannot take all waiting places of insight`() {
        var waiting = WaitingQueries()
        for _ in 0..<GatewayLimits.queriesPerKeyWaitingMax {
            #expect(waiting.add(of: "shop/busy") == .asked)
        }
        #expect(waiting.add(of: "shop/busy") == .tooManyOfKey)
        #expect(waiting.add(of: "shop/calm") == .asked, "another key")
        waiting.remove(of: "shop/busy")
        #expect(waiting.add(of: "shop/busy") == .asked)
    }

    @Test func `beyond the limit of all keys the next query is refused`() {
        var waiting = WaitingQueries()
        for number in 0..<GatewayLimits.queriesWaitingMax { _ = waiting.add(of: "key-\(number)") }
        #expect(waiting.add(of: "another") == .overloaded)
    }
}

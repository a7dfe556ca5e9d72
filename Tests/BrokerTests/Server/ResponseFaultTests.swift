import Testing

@testable import Broker

/// The faults that tests inject into the broker's answers (`BrokerSettings.responseFaults`). Other tests depend on
/// them. Each test sends three requests with the correlation numbers 1 to 3, and looks at the order of the answers.
struct ResponseFaultTests {
    /// Sends three requests, and returns the correlation numbers of the first answers.
    ///
    /// - Parameter fault: Returns the fault for the answer to a request.
    private func answers(
        count: Int, fault: @escaping @Sendable (_ correlation: Int32) -> ResponseFault
    ) throws -> [Int32] {
        try withBroker(temporarySettings { $0.responseFaults = { _, correlation in fault(correlation) } }) {
            broker in
            let client = try broker.client()
            for number: Int32 in 1...3 { client.askVersions(correlation: number) }
            return try (0..<count).map { _ in try client.receive().correlation }
        }
    }

    @Test func `an answer can be dropped`() throws {
        #expect(try answers(count: 2, fault: { $0 == 2 ? .drop : .deliver }) == [1, 3])
    }

    @Test func `an answer can come twice`() throws {
        #expect(try answers(count: 4, fault: { $0 == 2 ? .duplicate : .deliver }) == [1, 2, 2, 3])
    }

    @Test func `an answer can come after the next one`() throws {
        #expect(try answers(count: 3, fault: { $0 == 1 ? .swapWithNext : .deliver }) == [2, 1, 3])
    }

    @Test func `an answer can be delayed, and the answers behind it wait`() throws {
        let sentAt = ContinuousClock.now
        let order = try answers(count: 3, fault: { $0 == 2 ? .delay(milliseconds: 150) : .deliver })
        #expect(order == [1, 2, 3])
        // The delay, less the rounding of the broker's clock.
        #expect(ContinuousClock.now - sentAt >= .milliseconds(149))
    }

    @Test func `a connection can be closed in place of an answer`() throws {
        try withBroker(
            temporarySettings {
                $0.responseFaults = { key, _ in key == APIKey.metadata.rawValue ? .closeConnection : .deliver
                }
            }
        ) {
            broker in
            let client = try broker.client()
            client.send(.metadata, version: 1, correlation: 1) { $0.nullArray() }
            #expect(try client.isClosedByPeer())
        }
    }
}

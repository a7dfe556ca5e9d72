import Testing

@testable import Broker

/// The faults that a test bed adds to the broker's answers. Other tests depend on them.
struct ResponseFaultTests {
    /// Sends three requests, and returns the order of the answers.
    private func order(
        of faults: @escaping @Sendable (Int32) -> ResponseFault, expecting count: Int
    ) throws -> [Int32] {
        try withBroker(temporarySettings { $0.responseFaults = { _, correlation in faults(correlation) } }) {
            broker in
            let client = try broker.client()
            for number: Int32 in 1...3 { client.askVersions(correlation: number) }
            return try (0..<count).map { _ in try client.receive().correlation }
        }
    }

    @Test func `an answer can be dropped`() throws {
        #expect(try order(of: { $0 == 2 ? .drop : .deliver }, expecting: 2) == [1, 3])
    }

    @Test func `an answer can come twice`() throws {
        #expect(try order(of: { $0 == 2 ? .duplicate : .deliver }, expecting: 4) == [1, 2, 2, 3])
    }

    @Test func `an answer can come after the next one`() throws {
        #expect(try order(of: { $0 == 1 ? .swapWithNext : .deliver }, expecting: 3) == [2, 1, 3])
    }

    @Test func `an answer can be delayed, and the answers behind it wait`() throws {
        let sentAt = ContinuousClock.now
        #expect(try order(of: { $0 == 2 ? .delay(milliseconds: 150) : .deliver }, expecting: 3) == [1, 2, 3])
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

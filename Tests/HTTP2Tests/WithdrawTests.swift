import Testing

@testable import HTTP2

@Test func `a request can be withdrawn before it is fully sent, and not after`() throws {
    let wire = Wire.open()
    let first = try #require(wire.client.push("/1", id: "1", tag: 1))
    let isWithdrawn = wire.client.withdraw(first)
    #expect(isWithdrawn)
    #expect(wire.client.takeOutcomes().map(\.endReason) == [.cancelled])
    wire.settle()
    #expect(wire.server.requests.requests.isEmpty)
    let second = try #require(wire.client.push("/2", id: "2", tag: 2))
    wire.toServer(wire.clientSends())
    let isTooLate = !wire.client.withdraw(second)
    #expect(isTooLate)
    // The first request has freed its slot.
    #expect(wire.client.takeOutcomes().map(\.endReason) == [.released])
}

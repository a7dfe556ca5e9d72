import Lifecycle
import Testing

@testable import HTTP2

/// Requests that are ended by their owner or by their deadline. Such a request has two outcomes: `overdue` or
/// `cancelled` at once, and `released` when its stream is free. It is unknown (`mayHaveBeenProcessed`) if its last byte
/// was sent, and unprocessed otherwise.
@Suite struct DeadlineTests {
    let start = Instant(nanoseconds: 1_000_000_000)

    @Test func `a deadline ends a request as unknown and resets its stream`() {
        let wire = Wire.open()
        wire.client.push(tag: 1, deadline: start.advanced(byMilliseconds: 5_000))
        wire.client.push(tag: 2)
        wire.settle()
        wire.client.endExpiredRequests(at: start.advanced(byMilliseconds: 4_999))
        #expect(wire.client.takeOutcomes().isEmpty)
        wire.client.endExpiredRequests(at: start.advanced(byMilliseconds: 5_000))
        let outcome = wire.client.takeOutcomes().first
        #expect(outcome?.tag == 1 && outcome?.endReason == .overdue && outcome?.mayHaveBeenProcessed == true)
        wire.settle()
        #expect(wire.client.openRequestCount == 1 && wire.server.openStreamCount == 1)
        let released = wire.client.takeOutcomes()
        #expect(released.map(\.endReason) == [.released] && released[0].tag == 1 && released[0].isLate)
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().map(\.tag) == [2])
    }

    @Test func `a request whose deadline passes before it is sent is not processed`() {
        let wire = Wire.open()
        wire.client.push(deadline: start)
        wire.client.endExpiredRequests(at: start)
        let outcome = wire.client.takeOutcomes().first
        #expect(outcome?.endReason == .overdue && outcome?.mayHaveBeenProcessed == false)
        wire.settle()
        #expect(wire.server.requests.requests.isEmpty && wire.client.openRequestCount == 0)
    }

    @Test func `a late answer is reported as late, once`() {
        var limits = ClientLimits()
        limits.lateResponseMilliseconds = 3_000
        let wire = Wire.open(client: limits)
        wire.client.push(tag: 1, deadline: start)
        wire.client.push(tag: 2, deadline: start)
        wire.settle()
        wire.client.endExpiredRequests(at: start)
        wire.client.endExpiredRequests(at: start.advanced(byMilliseconds: 100))
        #expect(wire.client.takeOutcomes().map(\.endReason) == [.overdue, .overdue])
        let requests = wire.server.requests.requests
        wire.server.respond(to: requests[0].stream, template: Push.answer(200))
        wire.settle()
        let late = wire.client.takeOutcomes()
        #expect(late.count == 1 && late[0].isLate && late[0].endReason == .answered && late[0].tag == 1)
        wire.client.endExpiredRequests(at: start.advanced(byMilliseconds: 3_000))
        wire.settle()
        #expect(wire.client.openRequestCount == 0 && wire.server.openStreamCount == 0)
        let isTaken = wire.server.respond(to: requests[1].stream, template: Push.answer(200))
        #expect(!isTaken)
        wire.settle()
        let last = wire.client.takeOutcomes()
        #expect(last.map(\.endReason) == [.released] && last[0].tag == 2 && last[0].isLate)
    }

    @Test func `cancelling ends a request once`() throws {
        let wire = Wire.open()
        let request = try #require(wire.client.push(tag: 4))
        wire.settle()
        #expect(wire.client.cancel(request))
        #expect(!wire.client.cancel(request))
        #expect(wire.client.takeOutcomes().map(\.endReason) == [.cancelled])
        wire.settle()
        #expect(wire.server.openStreamCount == 0)
        #expect(!wire.client.cancel(request))
        #expect(wire.client.push() != nil)
        #expect(!wire.client.cancel(request), "the id of an ended request is not reused")
    }

    @Test func `an overdue request that waits for a stream ends, and its slot is freed later`() {
        let wire = Wire.open()
        wire.server.changeSettings(SettingsChange(concurrentStreamsMax: 0))
        wire.client.push(tag: 1, deadline: start)
        wire.toClient(wire.serverSends())
        wire.settle()
        wire.client.endExpiredRequests(at: start)
        #expect(wire.client.takeOutcomes().map(\.mayHaveBeenProcessed) == [false])
        wire.server.changeSettings(SettingsChange(concurrentStreamsMax: 10))
        wire.settle()
        #expect(wire.client.openRequestCount == 0 && wire.server.requests.requests.isEmpty)
        #expect(wire.client.availableRequests == 10)
    }

    // MARK: The send deadline, after which a request is not sent

    @Test func `a request whose send deadline has passed is not sent, even if a stream is free`() {
        let wire = Wire.open()
        wire.client.push(tag: 1, sendDeadline: start)
        wire.client.push(tag: 2)
        wire.toServer(wire.clientSends(at: start))
        #expect(wire.server.requests.requests.count == 1)
        let outcomes = wire.client.takeOutcomes()
        #expect(outcomes.map(\.tag) == [1, 1] && outcomes.map(\.endReason) == [.overdue, .released])
        #expect(outcomes[0].mayHaveBeenProcessed == false && wire.client.openRequestCount == 1)
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().map(\.endReason) == [.answered])
    }

    @Test func `a request whose body waits for the window too long is reset as unprocessed`() {
        var server = ServerLimits()
        server.streamWindowBytes = 100
        let wire = Wire.open(server: server)
        wire.server.holdWindows()
        wire.client.push(tag: 1, sendDeadline: start)
        wire.toServer(wire.clientSends(at: Instant(nanoseconds: 0)))
        #expect(wire.client.takeOutcomes().isEmpty && wire.server.openStreamCount == 1)
        wire.server.releaseWindows()
        wire.toClient(wire.serverSends())
        wire.toServer(wire.clientSends(at: start))
        wire.settle()
        #expect(wire.server.requests.requests.isEmpty && wire.server.openStreamCount == 0)
        let outcomes = wire.client.takeOutcomes()
        #expect(outcomes.map(\.endReason) == [.overdue, .released])
        #expect(outcomes[0].mayHaveBeenProcessed == false && wire.client.openRequestCount == 0)
    }

    @Test func `a request that was not fully sent is unprocessed, however its connection ends`() throws {
        var server = ServerLimits()
        server.streamWindowBytes = 100
        let wire = Wire.open(server: server)
        wire.server.holdWindows()
        wire.client.push(tag: 1)
        wire.client.push(tag: 2, deadline: start)
        let third = try #require(wire.client.push(tag: 3))
        wire.client.push(body: [], tag: 4)
        wire.toServer(wire.clientSends())
        #expect(wire.client.withdraw(third))
        wire.client.endExpiredRequests(at: start)
        wire.client.end()
        let known = Dictionary(grouping: wire.client.takeOutcomes(), by: \.tag).mapValues { $0[0] }
        #expect(known[1]?.endReason == .notProcessed && known[1]?.mayHaveBeenProcessed == false)
        #expect(known[2]?.endReason == .overdue && known[2]?.mayHaveBeenProcessed == false)
        #expect(known[3]?.endReason == .cancelled && known[3]?.mayHaveBeenProcessed == false)
        #expect(known[4]?.endReason == .connectionLost && known[4]?.mayHaveBeenProcessed == true)
    }

    @Test func `all requests that were not fully sent are withdrawn at once, and sent ones continue`() {
        let wire = Wire.open()
        wire.client.push(tag: 1)
        wire.toServer(wire.clientSends())
        for tag in 2...4 { wire.client.push(tag: UInt64(tag)) }
        wire.client.withdrawAll()
        #expect(wire.client.takeOutcomes().map(\.tag) == [2, 3, 4])
        wire.settle()
        #expect(wire.server.requests.requests.count == 1 && wire.client.openRequestCount == 1)
        #expect(wire.client.takeOutcomes().map(\.endReason) == [.released, .released, .released])
    }
}

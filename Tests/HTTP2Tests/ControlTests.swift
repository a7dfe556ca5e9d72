import Lifecycle
import Testing

@testable import HTTP2

/// SETTINGS, GOAWAY, RST_STREAM, PING and flow control between two sessions on a `Wire`: the bytes that the peer
/// receives, and the outcomes of the requests. A request that ends without an answer is unknown if the server may have
/// processed it, and unprocessed otherwise.
@Suite struct ControlTests {
    @Test func `one stream is open until the first SETTINGS, then as many as they allow`() {
        var limits = ServerLimits()
        limits.streamsMax = 37
        let wire = Wire(server: limits)
        #expect(wire.client.availableRequests == 1)
        #expect(wire.client.push() != nil)
        #expect(wire.client.availableRequests == 0 && wire.client.push() == nil)
        wire.settle()
        #expect(wire.client.takeEvents().settings?.concurrentStreamsMax == 37)
        #expect(wire.client.availableRequests == 36)
    }

    @Test func `streams follow the server's SETTINGS down to 0 and up again`() {
        let wire = Wire.open()
        for _ in 0..<10 { wire.client.push() }
        wire.settle()
        wire.server.changeSettings(SettingsChange(concurrentStreamsMax: 4))
        wire.settle()
        #expect(wire.client.availableRequests == 0)
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().filter { $0.endReason == .answered }.count == 10)
        #expect(wire.client.availableRequests == 4)
        wire.server.changeSettings(SettingsChange(concurrentStreamsMax: 0))
        wire.settle()
        #expect(
            wire.client.availableRequests == 0 && wire.client.push() == nil && wire.client.acceptsRequests)
        #expect(wire.client.takeEvents().settings?.concurrentStreamsMax == 0)
        wire.server.changeSettings(SettingsChange(concurrentStreamsMax: 500))
        wire.settle()
        #expect(wire.client.availableRequests == 500)
    }

    @Test func `requests taken before the limit was lowered wait and are not refused`() {
        let wire = Wire.open()
        for tag in 0..<10 { wire.client.push(tag: UInt64(tag)) }
        wire.server.changeSettings(SettingsChange(concurrentStreamsMax: 3))
        wire.toClient(wire.serverSends())
        var answered: [UInt64] = []
        for _ in 0..<8 {
            wire.settle()
            #expect(wire.server.requests.requests.count <= 3)
            wire.server.answerAll()
            wire.settle()
            answered += wire.client.takeOutcomes().filter { $0.endReason == .answered }.map(\.tag)
        }
        #expect(answered.sorted() == Array(0..<10))
    }

    @Test func `streams above the last one of a GOAWAY were not processed, and the others get answers`() {
        let wire = Wire.open()
        for tag in 0..<10 { wire.client.push(tag: UInt64(tag)) }
        wire.settle()
        let requests = wire.server.requests.requests
        wire.server.sendGoaway(
            lastStream: requests[5].stream.number, debug: Array("{\"reason\":\"Shutdown\"}".utf8))
        wire.settle()
        let goaway = wire.client.takeEvents().goaway
        // The sixth request has the stream 11, because a client's streams have odd numbers.
        #expect(goaway?.lastStream == 11 && goaway?.code == .noError)
        #expect(text(goaway?.debug[...]) == "{\"reason\":\"Shutdown\"}")
        let lost = wire.client.takeOutcomes()
        #expect(lost.map(\.tag).sorted() == [6, 7, 8, 9])
        #expect(
            lost.allSatisfy {
                $0.endReason == .notProcessed && !$0.mayHaveBeenProcessed && $0.mayHaveBeenSent
            })
        #expect(!wire.client.acceptsRequests && wire.client.push() == nil)
        wire.server.answerAll()
        wire.settle()
        #expect(
            wire.client.takeOutcomes().filter { $0.endReason == .answered }.map(\.tag).sorted()
                == Array(0...5))
        #expect(wire.client.isFinished && wire.server.isFinished)
    }

    @Test func `a GOAWAY never names a stream above the one that was asked for`() {
        for (lastStream, announced) in [
            (Int32(-3), Int32(0)), (0, 0), (1, 1), (2, 1), (6, 5), (7, 7), (.max, .max),
        ] {
            let wire = Wire.open()
            wire.server.sendGoaway(lastStream: lastStream)
            wire.settle()
            #expect(wire.client.takeEvents().goaway?.lastStream == announced, "\(lastStream)")
        }
    }

    @Test func `requests that were not sent before GOAWAY are not processed`() {
        let wire = Wire.open()
        wire.server.sendGoaway(lastStream: 0)
        let goaway = wire.serverSends()
        for tag in 0..<5 { wire.client.push(tag: UInt64(tag)) }
        wire.toClient(goaway)
        wire.settle()
        let outcomes = wire.client.takeOutcomes()
        #expect(outcomes.count == 5)
        #expect(outcomes.allSatisfy { $0.endReason == .notProcessed && !$0.mayHaveBeenSent })
    }

    @Test func `a lost connection leaves sent requests unknown and unsent ones unprocessed`() {
        let wire = Wire.open()
        for tag in 0..<3 { wire.client.push(tag: UInt64(tag)) }
        _ = wire.clientSends()
        for tag in 3..<6 { wire.client.push(tag: UInt64(tag)) }
        wire.client.end()
        let outcomes = wire.client.takeOutcomes()
        #expect(
            outcomes.filter { $0.endReason == .connectionLost && $0.mayHaveBeenProcessed }.map(\.tag) == [
                0, 1, 2,
            ])
        #expect(
            outcomes.filter { $0.endReason == .notProcessed && !$0.mayHaveBeenProcessed }.map(\.tag) == [
                3, 4, 5,
            ])
        wire.client.end()
        #expect(wire.client.takeOutcomes().isEmpty && wire.client.isFinished && wire.client.push() == nil)
    }

    @Test func `a request is unprocessed until its last frame begins to be sent, and then unknown`() {
        // With a body, HEADERS is not the last frame.
        for (body, end) in [(Push.body, RequestOutcome.EndReason.notProcessed), ([], .connectionLost)] {
            let wire = Wire.open()
            wire.client.push(body: body)
            let count = withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) {
                wire.client.pull(into: $0)
            }
            #expect(count == 1)
            wire.client.end()
            #expect(wire.client.takeOutcomes().map(\.endReason) == [end])
        }
    }

    @Test(arguments: [
        HTTP2ErrorCode.refusedStream, .cancel, .enhanceYourCalm, .internalError, HTTP2ErrorCode(rawValue: 99),
    ])
    func `a reset carries its code, and a refusal has its own outcome`(code: HTTP2ErrorCode) {
        let wire = Wire.open()
        wire.client.push(tag: 5)
        wire.settle()
        for request in wire.server.requests.requests { wire.server.reset(request.stream, code: code) }
        wire.settle()
        let outcome = wire.client.takeOutcomes().first
        #expect(outcome?.endReason == (code == .refusedStream ? .refused : .reset) && outcome?.code == code)
        #expect(outcome?.mayHaveBeenProcessed == (code != .refusedStream))
        #expect(wire.server.openStreamCount == 0 && wire.client.openRequestCount == 0)
    }

    @Test func `an answer to a half-sent body counts, and the rest of the body is not sent`() throws {
        var limits = ServerLimits()
        limits.bodyBytesMax = 1_000
        let wire = Wire.open(server: limits)
        wire.client.push(body: [UInt8](repeating: 1, count: 200_000), tag: 9)
        wire.toServer(wire.clientSends())
        #expect(wire.server.requests.requests.map(\.isBodyTruncated) == [true])
        wire.server.answerAll(Push.answer(413))
        wire.settle()
        let outcome = try #require(wire.client.takeOutcomes().first)
        #expect(outcome.endReason == .answered && outcome.status == 413)
        #expect(wire.client.openRequestCount == 0 && wire.server.openStreamCount == 0)
        #expect(wire.bytesMoved < 150_000, "less than the whole body")
    }

    @Test func `a header list above the limit is truncated and marked`() throws {
        var limits = ServerLimits()
        limits.headerListBytesMax = 1_000
        let wire = Wire.open(server: limits)
        let template = try RequestTemplate(
            method: "POST", authority: "a",
            headers: [HeaderField(name: "big", value: String(repeating: "x", count: 2_000))])
        wire.client.push(template: template)
        wire.settle()
        #expect(wire.server.requests.requests.map(\.areHeadersTruncated) == [true])
        wire.server.answerAll(Push.answer(431))
        wire.settle()
        #expect(wire.client.takeOutcomes().map(\.status) == [431])
    }

    @Test func `an answer's header list above the limit resets only its stream`() throws {
        var limits = ClientLimits()
        limits.headerListBytesMax = 1_000
        let wire = Wire.open(client: limits)
        wire.client.push(tag: 1)
        wire.settle()
        wire.server.answerAll(
            try ResponseTemplate(
                status: 200, headers: [HeaderField(name: "big", value: String(repeating: "x", count: 2_000))])
        )
        wire.settle()
        #expect(wire.client.takeOutcomes().map(\.endReason) == [.reset])
        wire.client.push(tag: 2)
        wire.settle()
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().map(\.endReason) == [.answered])
    }

    @Test func `a PING is acknowledged, one at a time`() {
        let wire = Wire.open()
        #expect(wire.client.sendPing(payload: 0x0102_0304_0506_0708))
        #expect(!wire.client.sendPing(payload: 2))
        wire.settle()
        #expect(wire.client.takeEvents().pong == 0x0102_0304_0506_0708)
        #expect(wire.server.sendPing(payload: 42))
        wire.settle()
        #expect(wire.server.takeEvents().pong == 42)
        #expect(wire.client.sendPing(payload: 3))
    }

    @Test func `held windows stall bodies, and nothing is lost when they are released`() {
        var limits = ServerLimits()
        limits.connectionWindowBytes = 65_535
        let wire = Wire.open(server: limits)
        wire.server.holdWindows()
        for tag in 0..<200 { wire.client.push(tag: UInt64(tag)) }
        wire.settle()
        // The window of 65,535 bytes takes 109 bodies of 600 bytes.
        let arrivedCount = wire.server.requests.requests.count
        #expect((100...110).contains(arrivedCount))
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().count == arrivedCount)
        wire.server.releaseWindows()
        wire.settle()
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().count == 200 - arrivedCount)
    }

    @Test func `a small stream window passes bodies in pieces, and an empty one passes none`() {
        var limits = ServerLimits()
        limits.streamWindowBytes = 100
        let wire = Wire.open(server: limits)
        for tag in 0..<20 { wire.client.push(tag: UInt64(tag)) }
        wire.settle()
        #expect(wire.server.requests.requests.count == 20)
        wire.server.changeSettings(SettingsChange(streamWindowBytes: 0))
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().count == 20)
        wire.client.push()
        wire.settle()
        #expect(wire.server.requests.requests.isEmpty)
        wire.server.changeSettings(SettingsChange(streamWindowBytes: 65_535))
        wire.settle()
        #expect(wire.server.requests.requests.count == 1)
    }

    @Test func `a client that finishes gets its answers and is then over`() {
        let wire = Wire.open()
        wire.client.push()
        wire.settle()
        wire.client.finish()
        wire.settle()
        #expect(wire.server.takeEvents().goaway?.code == .noError)
        #expect(!wire.client.isFinished && wire.client.availableRequests == 0)
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().map(\.endReason) == [.answered])
        #expect(wire.client.isFinished)
    }

    @Test func `a connection takes no more than its limit of requests`() {
        var limits = ClientLimits()
        limits.requestsMax = 3
        let wire = Wire.open(client: limits)
        for _ in 0..<3 { #expect(wire.client.push() != nil) }
        #expect(wire.client.push() == nil && !wire.client.acceptsRequests)
    }
}

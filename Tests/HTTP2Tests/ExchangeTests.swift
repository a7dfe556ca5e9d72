import Lifecycle
import Testing

@testable import HTTP2

/// Requests and answers between the two sessions of a `Wire`, with bytes arriving in pieces of any size.
@Suite struct ExchangeTests {
    @Test(arguments: [1, 2, 3, 7, 9, 10, 100, 601, 16_384, 65_536])
    func `a push and its answer arrive in fragments of any size`(fragment: Int) throws {
        let wire = Wire.open(fragment: fragment)
        for tag in 0..<20 {
            wire.client.push("/3/device/\(Push.token)\(tag)", id: "id-\(tag)", tag: UInt64(tag))
        }
        wire.settle()
        let batch = wire.server.requests
        #expect(batch.requests.count == 20)
        for (tag, request) in batch.requests.enumerated() {
            #expect(text(batch.method(of: request)) == "POST")
            #expect(text(batch.path(of: request)) == "/3/device/\(Push.token)\(tag)")
            #expect(text(batch.fields(of: request)["authorization"]) == Push.bearer)
            #expect(text(batch.fields(of: request)["apns-id"]) == "id-\(tag)")
            #expect(text(batch.fields(of: request)[":authority"]) == "api.push.apple.com")
            #expect(Array(batch.body(of: request)) == Push.body)
            #expect(!request.isBodyTruncated && !request.areHeadersTruncated)
        }
        for request in batch.requests.reversed() {
            let id = Array(batch.bytes[try #require(batch.value(named: "apns-id", of: request))])
            let reason = SharedBody(copying: Array("{\"reason\":\"BadDeviceToken\"}".utf8).span)
            let isTaken = wire.server.respond(
                to: request.stream, template: Push.answer(400), varying: id.span, body: reason)
            #expect(isTaken)
        }
        wire.settle()
        let outcomes = wire.client.outcomes
        #expect(outcomes.outcomes.map(\.tag).sorted() == Array(0..<20))
        for outcome in outcomes.outcomes {
            #expect(
                outcome.endReason == .answered && outcome.status == 400 && outcome.mayHaveBeenSent
                    && !outcome.isLate)
            #expect(text(outcomes.fields(of: outcome)["apns-id"]) == "id-\(outcome.tag)")
            #expect(text(outcomes.body(of: outcome)) == "{\"reason\":\"BadDeviceToken\"}")
        }
        #expect(wire.client.openRequestCount == 0 && wire.server.openStreamCount == 0)
    }

    @Test func `a request and an answer without bodies both end`() {
        let wire = Wire.open()
        wire.client.push(body: [], tag: 7)
        wire.settle()
        #expect(wire.server.requests.requests.count == 1)
        wire.server.answerAll()
        wire.settle()
        let outcome = wire.client.takeOutcomes().first
        #expect(outcome?.tag == 7 && outcome?.status == 200)
    }

    @Test func `a varying field without a value is omitted`() {
        let wire = Wire.open()
        wire.client.push(id: "")
        wire.settle()
        let batch = wire.server.requests
        #expect(batch.requests.count == 1 && batch.value(named: "apns-id", of: batch.requests[0]) == nil)
    }

    @Test func `many bodies larger than a frame arrive complete`() {
        var limits = ServerLimits()
        limits.bodyBytesMax = 200_000
        let wire = Wire.open(server: limits, fragment: 5_000)
        let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for tag in 0..<5 { wire.client.push(body: body, tag: UInt64(tag)) }
        wire.settle()
        let batch = wire.server.requests
        #expect(batch.requests.count == 5)
        for request in batch.requests { #expect(Array(batch.body(of: request)) == body) }
        wire.server.answerAll(body: body)
        wire.settle()
        let outcomes = wire.client.outcomes
        #expect(outcomes.outcomes.count == 5)
        for outcome in outcomes.outcomes {
            #expect(outcome.isBodyTruncated)
            #expect(Array(outcomes.body(of: outcome)) == Array(body.prefix(ClientLimits().bodyBytesMax)))
        }
    }

    @Test func `fields that are not kept are dropped, and so are long values`() throws {
        let wire = Wire.open()
        wire.client.push()
        wire.settle()
        let long = String(repeating: "a", count: ClientLimits().keptValueBytesMax + 1)
        wire.server.answerAll(
            try ResponseTemplate(
                status: 503,
                headers: [
                    HeaderField(name: "server", value: "x"), HeaderField(name: "retry-after", value: "120"),
                    HeaderField(name: "apns-id", value: long),
                ]))
        wire.settle()
        let outcomes = wire.client.outcomes
        let fields = outcomes.fields(of: try #require(outcomes.outcomes.first))
        #expect(Array(fields).map { text($0.name) } == ["retry-after"])
        #expect(text(fields["retry-after"]) == "120")
        #expect(fields["apns-id"] == nil)
    }

    @Test func `an informational answer is not the final answer`() throws {
        let wire = Wire.open()
        wire.client.push(tag: 3)
        wire.settle()
        // Status 103 with END_HEADERS on stream 1. The field is a literal without indexing, and its name has
        // static index 8.
        wire.toClient([0, 0, 5, 1, 4, 0, 0, 0, 1, 0x08, 3] + Array("103".utf8))
        #expect(wire.client.outcomes.outcomes.isEmpty)
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().map(\.status) == [200])
    }

    @Test func `many requests send one body, and it is freed after the last`() {
        let wire = Wire.open()
        weak var watched: SharedBody?
        do {
            let bytes = Push.body
            let body = SharedBody(copying: bytes.span)
            watched = body
            let template = Push.template()
            let path = Array("/".utf8)
            for tag in 0..<50 {
                wire.client.submit(template: template, path: path.span, body: body, tag: UInt64(tag))
            }
        }
        #expect(watched != nil)
        wire.settle()
        wire.server.answerAll()
        wire.settle()
        #expect(wire.client.takeOutcomes().count == 50)
        #expect(watched == nil)
    }

    @Test func `path and authorization never enter the peer's table, and repeated fields do`() {
        // A field in the peer's header table costs one byte in each further request.
        let wire = Wire.open()
        let template = Push.template()
        var sizes: [Int] = []
        for number in 0..<3 {
            wire.client.push("/3/device/\(number)", body: [], template: template)
            sizes.append(wire.clientSends().count)
        }
        #expect(sizes[0] > sizes[1] && sizes[1] == sizes[2])
        // Nine bytes of frame header, six indexed fields, the path, and the bearer with its name, without
        // Huffman code.
        let bearerBytes = Push.bearer.utf8.count
        #expect((bearerBytes..<bearerBytes + 60).contains(sizes[2]), "\(sizes)")
    }
}

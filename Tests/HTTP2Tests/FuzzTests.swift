import Lifecycle
import Simulation
import Testing

@testable import HTTP2

/// Random and damaged bytes from a peer, for sessions without a connection. A session neither traps nor loses a
/// request. The seed alone repeats a failing case.
@Suite struct FuzzTests {
    /// The number of cases of each kind. The number of a case is its seed.
    static let caseCount = trialCount(base: 6_000)

    @Test func `random bytes never harm a client`() {
        for seed in 0..<FuzzTests.caseCount {
            var random = SeededGenerator(seed: seed)
            let client = ClientSession(limits: clientLimits)
            let openCount = (0..<3).count { client.push(tag: UInt64($0)) != nil }
            drain(client)
            client.feed(randomBytes(using: &random), using: &random)
            drain(client)
            endAndCheck(client, requestCount: openCount, seed: seed)
        }
    }

    @Test func `random bytes never harm a server`() {
        for seed in 0..<FuzzTests.caseCount {
            var random = SeededGenerator(seed: seed)
            let server = ServerSession(limits: serverLimits)
            if random.number(below: 4) > 0 { server.feed(preface, using: &random) }
            server.feed(randomBytes(using: &random), using: &random)
            server.answerAll()
            drain(server)
            server.end()
            #expect(server.openStreamCount == 0, "seed \(seed)")
        }
    }

    @Test func `a mutated answer never harms a client`() {
        let template = Push.template()
        for seed in 0..<FuzzTests.caseCount {
            var random = SeededGenerator(seed: seed)
            let client = ClientSession(limits: clientLimits, keeping: ["apns-id", "retry-after"])
            client.feed(settings, using: &random)
            let openCount = (0..<5).count { client.push(tag: UInt64($0), template: template) != nil }
            drain(client)
            client.feed(mutated(FuzzTests.answers, using: &random), using: &random)
            client.endExpiredRequests(at: Instant(nanoseconds: Int64(random.number(below: 10))))
            drain(client)
            endAndCheck(client, requestCount: openCount, seed: seed)
        }
    }

    @Test func `a mutated request never harms a server`() {
        for seed in 0..<FuzzTests.caseCount {
            var random = SeededGenerator(seed: seed)
            let server = ServerSession(limits: serverLimits)
            server.feed(mutated(FuzzTests.requests, using: &random), using: &random)
            server.answerAll()
            drain(server)
            server.feed(mutated(FuzzTests.requests, using: &random), using: &random)
            server.end()
            #expect(server.openStreamCount == 0, "seed \(seed)")
        }
    }

    // MARK: Input

    /// The bytes of a client and of a server that used every feature, recorded once.
    static let (requests, answers): ([UInt8], [UInt8]) = {
        let wire = Wire()
        var up = wire.clientSends()
        wire.toServer(up)
        var down = wire.serverSends()
        wire.toClient(down)
        for number in 0..<5 { wire.client.push("/3/device/\(number)", id: "id", tag: UInt64(number)) }
        _ = wire.client.sendPing(payload: 1)
        let sent = wire.clientSends()
        up += sent
        wire.toServer(sent)
        let requests = wire.server.requests.requests
        let reason = SharedBody(copying: Array("{\"reason\":\"BadDeviceToken\"}".utf8).span)
        let id = Array("apns-id-of-answer".utf8)
        wire.server.respond(to: requests[0].stream, template: Push.answer(200), varying: id.span)
        wire.server.respond(
            to: requests[1].stream, template: Push.answer(400), varying: id.span, body: reason)
        wire.server.reset(requests[2].stream, code: .refusedStream)
        wire.server.changeSettings(SettingsChange(concurrentStreamsMax: 3, streamWindowBytes: 1_000))
        wire.server.sendGoaway(lastStream: requests[3].stream.number, debug: [1, 2, 3])
        wire.server.respond(
            to: requests[3].stream, template: Push.answer(503), varying: id.span, body: reason)
        down += wire.serverSends()
        return (up, down)
    }()

    private let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// SETTINGS with 100 streams.
    private let settings: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100]
    private let clientLimits: ClientLimits = {
        var limits = ClientLimits()
        limits.streamsMax = 8
        limits.streamsBeforeSettings = 4
        limits.bodyBytesMax = 100
        return limits
    }()
    private let serverLimits: ServerLimits = {
        var limits = ServerLimits()
        limits.streamsMax = 8
        limits.bodyBytesMax = 500
        limits.headerListBytesMax = 700
        return limits
    }()

    /// Returns random bytes, or frames with a correct length and random type, flags, stream and payload.
    private func randomBytes(using random: inout SeededGenerator) -> [UInt8] {
        guard random.number(below: 3) > 0 else {
            return (0..<random.number(below: 200)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        // Most inputs begin with an empty SETTINGS frame, as a session requires.
        var bytes: [UInt8] = random.number(below: 4) == 0 ? [] : [0, 0, 0, 4, 0, 0, 0, 0, 0]
        for _ in 0..<(1 + random.number(below: 12)) {
            let count = random.number(below: 40)
            let stream = UInt8(random.number(below: 12))
            let type = UInt8(random.number(below: 11))
            let flags = UInt8(truncatingIfNeeded: random.next())
            bytes += [0, 0, UInt8(count), type, flags, 0, 0, 0, stream]
            bytes += (0..<count).map { _ in
                UInt8(truncatingIfNeeded: random.next() >> UInt64(random.number(below: 60)))
            }
        }
        return bytes
    }

    /// Returns a copy with a few changed, removed, repeated or missing bytes.
    private func mutated(_ source: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
        var bytes = source
        for _ in 0..<(1 + random.number(below: 4)) {
            let position = random.number(below: max(1, bytes.count))
            switch random.number(below: 5) {
            case 0: bytes[position] ^= 1 << UInt8(random.number(below: 8))
            case 1: bytes[position] = UInt8(truncatingIfNeeded: random.next())
            case 2: bytes.removeSubrange(position..<min(bytes.count, position + 1 + random.number(below: 20)))
            case 3:
                bytes.insert(
                    contentsOf: bytes[position..<min(bytes.count, position + random.number(below: 60))],
                    at: position)
            default: bytes.removeLast(min(bytes.count - 1, random.number(below: 50)))
            }
            if bytes.isEmpty { return source }
        }
        return bytes
    }

    // MARK: Checks

    /// Ends the session. Each request must have ended once, and the session must have no open request.
    private func endAndCheck(_ client: ClientSession, requestCount: Int, seed: Int) {
        client.end()
        let ends = client.outcomes.outcomes.filter { !$0.isLate }.map(\.tag)
        #expect(
            ends.count == requestCount && Set(ends).count == requestCount && client.openRequestCount == 0,
            "seed \(seed)")
    }

    /// Pulls all bytes and drops them.
    private func drain(_ client: ClientSession) {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 16) { buffer in
            while client.pull(into: buffer) == buffer.count {}
        }
    }

    private func drain(_ server: ServerSession) {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 16) { buffer in
            while server.pull(into: buffer) == buffer.count {}
        }
    }
}

extension ClientSession {
    /// Receives bytes in pieces of random size.
    func feed(_ bytes: [UInt8], using random: inout SeededGenerator) {
        forEachPiece(of: bytes, using: &random) { receive($0) }
    }
}

extension ServerSession {
    /// Receives bytes in pieces of random size.
    func feed(_ bytes: [UInt8], using random: inout SeededGenerator) {
        forEachPiece(of: bytes, using: &random) { receive($0) }
    }
}

private func forEachPiece(
    of bytes: [UInt8], using random: inout SeededGenerator, _ receive: (UnsafeRawBufferPointer) -> Void
) {
    bytes.withUnsafeBytes { bytes in
        var position = 0
        while position < bytes.count {
            let end = min(bytes.count, position + 1 + random.number(below: 300))
            receive(UnsafeRawBufferPointer(rebasing: bytes[position..<end]))
            position = end
        }
    }
}

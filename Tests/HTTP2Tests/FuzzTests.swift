import Lifecycle
import Simulation
import Testing

@testable import HTTP2

/// Random and damaged bytes from a peer. A session neither traps nor loses a request. The seed alone repeats
/// a failing case.
@Suite struct FuzzTests {
    /// Number of cases of each kind. The seeds are 0..<cases.
    static let cases = trialCount(base: 6_000)

    @Test func `random bytes never harm a client`() {
        for seed in 0..<FuzzTests.cases {
            var random = SeededGenerator(seed: seed)
            let client = ClientSession(limits: small)
            var open = 0
            for tag in 0..<3 where client.push(tag: UInt64(tag)) != nil { open += 1 }
            drain(client)
            client.feed(noise(&random), &random)
            drain(client)
            finish(client, open, seed)
        }
    }

    @Test func `random bytes never harm a server`() {
        for seed in 0..<FuzzTests.cases {
            var random = SeededGenerator(seed: seed)
            let server = ServerSession(limits: smallServer)
            if random.number(below: 4) > 0 { server.feed(preface, &random) }
            server.feed(noise(&random), &random)
            server.answerAll()
            drain(server)
            server.end()
            #expect(server.openStreamCount == 0, "seed \(seed)")
        }
    }

    @Test func `a mutated answer never harms a client`() {
        let template = Push.template()
        for seed in 0..<FuzzTests.cases {
            var random = SeededGenerator(seed: seed)
            let client = ClientSession(limits: small, keeping: ["apns-id", "retry-after"])
            client.feed(settings, &random)
            var open = 0
            for tag in 0..<5 where client.push(tag: UInt64(tag), template: template) != nil { open += 1 }
            drain(client)
            client.feed(mutated(FuzzTests.answers, &random), &random)
            client.endExpiredRequests(at: Instant(nanoseconds: Int64(random.number(below: 10))))
            drain(client)
            finish(client, open, seed)
        }
    }

    @Test func `a mutated request never harms a server`() {
        for seed in 0..<FuzzTests.cases {
            var random = SeededGenerator(seed: seed)
            let server = ServerSession(limits: smallServer)
            server.feed(mutated(FuzzTests.requests, &random), &random)
            server.answerAll()
            drain(server)
            server.feed(mutated(FuzzTests.requests, &random), &random)
            server.end()
            #expect(server.openStreamCount == 0, "seed \(seed)")
        }
    }

    // MARK: Input

    /// Bytes of two sessions that used every feature, recorded once.
    static let (requests, answers): ([UInt8], [UInt8]) = {
        let wire = Wire()
        var up = wire.clientSends()
        wire.toServer(up)
        var down = wire.serverSends()
        wire.toClient(down)
        for turn in 0..<5 { wire.client.push("/3/device/\(turn)", id: "id", tag: UInt64(turn)) }
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
    private let small: ClientLimits = {
        var limits = ClientLimits()
        limits.streamsMax = 8
        limits.streamsBeforeSettings = 4
        limits.bodyBytesMax = 100
        return limits
    }()
    private let smallServer: ServerLimits = {
        var limits = ServerLimits()
        limits.streamsMax = 8
        limits.bodyBytesMax = 500
        limits.headerListBytesMax = 700
        return limits
    }()

    /// Returns random bytes, or frames with a correct length and random type, flags, stream and payload.
    private func noise(_ random: inout SeededGenerator) -> [UInt8] {
        guard random.number(below: 3) > 0 else {
            return (0..<random.number(below: 200)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        var bytes: [UInt8] = random.number(below: 4) == 0 ? [] : [0, 0, 0, 4, 0, 0, 0, 0, 0]
        for _ in 0..<(1 + random.number(below: 12)) {
            let count = random.number(below: 40)
            let stream = UInt8(random.number(below: 12))
            bytes += [
                0, 0, UInt8(count), UInt8(random.number(below: 11)), UInt8(truncatingIfNeeded: random.next()),
            ]
            bytes += [0, 0, 0, stream]
            bytes += (0..<count).map { _ in
                UInt8(truncatingIfNeeded: random.next() >> UInt64(random.number(below: 60)))
            }
        }
        return bytes
    }

    private func mutated(_ source: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = source
        for _ in 0..<(1 + random.number(below: 4)) {
            let at = random.number(below: max(1, bytes.count))
            switch random.number(below: 5) {
            case 0: bytes[at] ^= 1 << UInt8(random.number(below: 8))
            case 1: bytes[at] = UInt8(truncatingIfNeeded: random.next())
            case 2: bytes.removeSubrange(at..<min(bytes.count, at + 1 + random.number(below: 20)))
            case 3:
                bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + random.number(below: 60))], at: at)
            default: bytes.removeLast(min(bytes.count - 1, random.number(below: 50)))
            }
            if bytes.isEmpty { return source }
        }
        return bytes
    }

    // MARK: Checks

    /// Checks that every request ended once and that the session holds no requests.
    private func finish(_ client: ClientSession, _ open: Int, _ seed: Int) {
        client.end()
        let ends = client.outcomes.outcomes.filter { !$0.isLate }.map(\.tag)
        #expect(ends.count == open && Set(ends).count == open && client.openRequestCount == 0, "seed \(seed)")
    }

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
    func feed(_ bytes: [UInt8], _ random: inout SeededGenerator) { pieces(bytes, &random) { receive($0) } }
}

extension ServerSession {
    func feed(_ bytes: [UInt8], _ random: inout SeededGenerator) { pieces(bytes, &random) { receive($0) } }
}

private func pieces(
    _ bytes: [UInt8], _ random: inout SeededGenerator, _ receive: (UnsafeRawBufferPointer) -> Void
) {
    bytes.withUnsafeBytes { bytes in
        var at = 0
        while at < bytes.count {
            let end = min(bytes.count, at + 1 + random.number(below: 300))
            receive(UnsafeRawBufferPointer(rebasing: bytes[at..<end]))
            at = end
        }
    }
}

import Foundation
import HTTP2
import Lifecycle
import LiveActivity
import ProcessTesting
import Simulation
import TLS
import Testing

@testable import APNsSimulator

/// Whatever clients send and whatever misbehaviour is asked for, the simulator does not trap, and each
/// request has one entry in the journal. A failing case is run again by its seed alone.
@Suite struct SimulatorFuzzTests {
    /// A case is one connection with up to `requestsMax` requests; the seeds are 0..<cases.
    static let cases = trials(2_000)
    static let requestsMax = 6

    @Test func `random requests and rulings end once each`() async throws {
        for start in stride(from: 0, to: Self.cases, by: 500) {
            let journal = KeptEntries()
            let subject = try Subject(journal)
            let end = min(start + 500, Self.cases)
            subject.loop.perform { for seed in start..<end { Self.connection(seed, subject) } }
            try await eventually("all entries of seeds \(start)..<\(end)") {
                journal.entries.count >= subject.loop.perform { subject.simulator.requestsMade } ?? 0
            }
            #expect(journal.entries.count == subject.simulator.requestsMade, "seeds \(start)..<\(end)")
            #expect(Set(journal.entries.map(\.facts.request)).count == journal.entries.count)
        }
    }

    /// A simulator without sockets.
    private final class Subject: @unchecked Sendable {
        let loop: EventLoop
        let simulator: Simulator
        let token: String

        init(_ journal: KeptEntries) throws {
            let credentials = SimulatorCredentials()
            loop = try EventLoop(name: "fuzz")
            try loop.start()
            var settings = SimulatorSettings()
            settings.streams.atFirst = 8
            settings.streams.most = 16
            settings.streams.pointsPerHalving = 4
            settings.channelsMax = 3
            settings.pace = PaceSettings(burst: 5)
            let running = try RunningSimulator(credentials: credentials)
            token = running.token()
            simulator = Simulator(
                settings, credentials: credentials, on: loop,
                phones: KnownTokens(SimulatorFuzzTests.standings),
                mischief: RandomRulings(), journal: journal)
        }

        /// The last to let go may be a closure on the loop, which cannot wait for itself.
        deinit {
            Thread.detachNewThread { [loop, simulator] in
                loop.stop()
                withExtendedLifetime(simulator) {}
            }
        }
    }

    private static let standings: [PushToken: TokenStanding] = [
        PushToken(hex: "aa")!: .unknown, PushToken(hex: "ab")!: .gone(since: 1),
        PushToken(hex: "ac")!: .expired(since: 2), PushToken(hex: "ad")!: .ofAnotherTopic,
    ]

    /// Half of the requests are judged; the other half meets anything that a ruling can say.
    private final class RandomRulings: Mischief, Sendable {
        func ruling(for request: RequestFacts) -> Ruling {
            var random = SeededGenerator(request.request &* 7_919)
            var ruling = Ruling()
            if random.below(2) == 0 { return ruling }
            let status = random.below(700)
            let courses: [Ruling.Course] = [
                .judge, .silence(processed: random.below(2) == 0),
                .reset(ErrorCode(rawValue: UInt32(random.below(20))), processed: random.below(2) == 0),
                .answer(
                    status: status, reason: "Reason\(random.below(3))\"\n",
                    timestamp: random.below(2) == 0 ? nil : Int64(status), retryAfterSeconds: random.below(9)),
                .answerBody(status: status, body: random.bytes(0...300)),
            ]
            let faults: [Ruling.ConnectionFault?] = [
                nil, nil, .settings(streamsMax: random.below(20)), .stall(milliseconds: random.below(3)),
                .goaway(
                    ErrorCode(rawValue: UInt32(random.below(20))), streamsBack: random.below(12),
                    reason: random.below(2) == 0 ? nil : "Why", thenClose: random.below(2) == 0),
                .starveWindows, .resetAfter(bytes: random.below(100)), .close,
            ]
            ruling.course = courses[random.below(courses.count)]
            ruling.connection = faults[random.below(faults.count)]
            ruling.delayMilliseconds = random.below(4) == 0 ? random.below(5) : 0
            return ruling
        }

        func connectionOpened(_ number: Int) -> [Ruling.ConnectionFault] { [] }
    }

    /// Ends when it is told to, as TLS does: in the next call.
    private final class NoTransport: ConnectionTransport {
        let loop: EventLoop
        var isOver = false

        init(_ loop: EventLoop) { self.loop = loop }

        func wantsToSend() {}
        func pauseReading() {}
        func resumeReading() {}
        func finish() { isOver = true }
        func close() { isOver = true }
        func reset() { isOver = true }
    }

    private static func connection(_ seed: Int, _ subject: Subject) {
        var random = SeededGenerator(seed)
        let transport = NoTransport(subject.loop)
        let port = ServedPort(
            kind: random.below(4) == 0 ? .channels : .push,
            environment: random.below(2) == 0 ? .production : .sandbox)
        let connection = ServedConnection(transport, subject.simulator, port, number: seed)
        connection.established(applicationProtocol: "h2")
        var limits = ClientLimits()
        limits.streamsBeforeSettings = requestsMax
        let client = ClientSession(limits: limits)
        for tag in 0..<(1 + random.below(requestsMax)) where !transport.isOver {
            submit(randomRequest(subject.token, &random), to: client, tag: UInt64(tag), &random)
            var bytes = pulled { client.pull(into: $0) }
            if random.below(20) == 0 { mutate(&bytes, &random) }
            feed(bytes, to: connection, &random)
            if !transport.isOver { give(pulled { connection.fill($0) }, to: client) }
        }
        connection.closed(.closedHere)
        client.end()
    }

    // MARK: Requests

    private static func randomRequest(_ token: String, _ random: inout SeededGenerator) -> TestRequest {
        let channel = ["AAAA", "QUJD", "?", ""][random.below(4)]
        let good: [TestRequest] = [
            .push(token), .push(token), .push(token), .broadcast(token, channel: channel), .create(token),
            .manage("GET", token, channel: channel), .manage("DELETE", token, channel: channel),
        ]
        var request = good[random.below(good.count)]
        let values = [
            "", "0", "5", "10", "1", "-1", "99999999999999999999", "liveactivity", "alert", "com.example",
            RunningSimulator.app + ".push-type.liveactivity", TestRequest.id, "bearer", "bearer a.b.c",
            "bearer \(token)x", String(repeating: "x", count: random.below(200)), "ü",
        ]
        let names = [
            "authorization", "apns-id", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
            "apns-collapse-id", "apns-channel-id", "apns-request-id", "other",
        ]
        for _ in 0..<random.below(3) {
            let name = names[random.below(names.count)]
            let value = values[random.below(values.count)]
            request = random.below(3) == 0 ? request.adding(name, value) : request.setting(name, value)
        }
        if random.below(3) == 0 {
            let paths = [
                "/", "/3/device", "/3/device/", "/3/device/aa", "/3/device/ab", "/3/device/ac",
                "/3/device/ad", "/3/device/a",
                "/3/device/" + String(repeating: "ab", count: random.below(600)),
                "/4/broadcasts/apps/", "/4/broadcasts/apps/a.b", "/1/apps//channels", "/1/apps/channels",
                "/1/apps/a/all-channels", "/3/device/%00", "*",
            ]
            request.path = paths[random.below(paths.count)]
        }
        if random.below(8) == 0 { request.method = ["GET", "PUT", "DELETE", "X"][random.below(4)] }
        if random.below(3) == 0 {
            request.body = bodies[random.below(bodies.count)]
        } else if random.below(3) == 0 {
            var bytes = Array(request.body.utf8)
            if !bytes.isEmpty { bytes[random.below(bytes.count)] = UInt8(random.below(127)) }
            request.body = String(decoding: bytes, as: UTF8.self)
        }
        return request
    }

    private static let bodies = [
        "", "{}", "[]", "null", "1", #"{"aps":1}"#, #"{"aps":{"timestamp":18446744073709551615}}"#,
        #"{"aps":{"timestamp":1e400}}"#, #"{"aps":{"input-push-token":1.0,"event":1,"alert":null}}"#,
        String(repeating: "[", count: 3_000), String(repeating: "x", count: 9_000),
        #"{"message-storage-policy":18446744073709551615,"push-type":"LiveActivity"}"#,
        #"{"message-storage-policy":-1,"push-type":"LiveActivity"}"#,
        #"{"aps":{"relevance-score":1e308,"stale-date":-9223372036854775808,"event":"end"}}"#,
    ]

    private static func submit(
        _ request: TestRequest, to client: ClientSession, tag: UInt64, _ random: inout SeededGenerator
    ) {
        guard
            let template = try? RequestTemplate(
                method: request.method, authority: "localhost",
                headers: request.headers.map { HeaderField($0.0, $0.1) })
        else { return }
        let body = Array(request.body.utf8)
        client.submit(
            template, path: Array(request.path.utf8).span, body: body.isEmpty ? nil : SharedBody(body.span),
            tag: tag)
    }

    // MARK: Bytes

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let at = random.below(bytes.count)
        switch random.below(4) {
        case 0: bytes[at] ^= 1 << UInt8(random.below(8))
        case 1: bytes[at] = UInt8(truncatingIfNeeded: random.next())
        case 2: bytes.removeSubrange(at..<min(bytes.count, at + 1 + random.below(20)))
        default: bytes.insert(contentsOf: random.bytes(1...40), at: at)
        }
    }

    private static func pulled(_ pull: (UnsafeMutableRawBufferPointer) -> Int) -> [UInt8] {
        var all: [UInt8] = []
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { buffer in
            while case let count = pull(buffer), count > 0 { all += buffer[..<count] }
        }
        return all
    }

    private static func feed(
        _ bytes: [UInt8], to connection: ServedConnection, _ random: inout SeededGenerator
    ) {
        bytes.withUnsafeBytes { bytes in
            var at = 0
            while at < bytes.count {
                let end = min(bytes.count, at + 1 + random.below(600))
                connection.received(UnsafeRawBufferPointer(rebasing: bytes[at..<end]))
                at = end
            }
        }
    }

    private static func give(_ bytes: [UInt8], to client: ClientSession) {
        bytes.withUnsafeBytes { client.receive($0) }
        client.clearOutcomes()
        _ = client.takeEvents()
    }
}

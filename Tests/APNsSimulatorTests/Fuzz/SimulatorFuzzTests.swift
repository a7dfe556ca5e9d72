import Cryptography
import HTTP2
import Identifiers
import Lifecycle
import ProcessTesting
import Simulation
import TLS
import Testing

@testable import APNsSimulator

/// Random requests and faults, without sockets (`FuzzSubject`). The simulator must not trap, and each request must have
/// one entry in the journal.
@Suite struct SimulatorFuzzTests {
    /// The number of cases. A case is one connection with up to `requestsMax` requests. Its number is its seed, from
    /// which its requests and faults follow. The cases of a round share phones, channels and the clock.
    static let caseCount = trialCount(base: 2_000)
    static let casesPerRound = 1_000
    static let requestsMax = 6
    /// Rounds that run in parallel, each on its own thread.
    static let parallelRounds = 2

    @Test func `random requests and faults end exactly once`() async throws {
        let rounds = Array(stride(from: 0, to: Self.caseCount, by: Self.casesPerRound))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, start) in rounds.enumerated() {
                if index >= Self.parallelRounds { try await group.next() }
                let end = min(start + Self.casesPerRound, Self.caseCount)
                group.addTask { try await Self.runRound(start..<end) }
            }
            try await group.waitForAll()
        }
    }

    private static func runRound(_ seeds: Range<Int>) async throws {
        let subject = try FuzzSubject()
        defer { subject.loop.stop() }
        subject.loop.perform { for seed in seeds { runConnection(seed: seed, to: subject) } }
        var counts = FuzzSubject.RequestCounts()
        try await eventually("the ends of all requests of seeds \(seeds)") {
            counts = subject.loop.perform { subject.requestCounts } ?? counts
            return counts.ended >= counts.received
        }
        #expect(
            counts.ended == counts.received && counts.distinctEnded == counts.received,
            "seeds \(seeds): \(counts)")
        #expect(counts.inSummary == counts.received, "seeds \(seeds)")
        #expect(counts.received > seeds.count / 2, "seeds \(seeds) are hardly any requests")
    }

    /// A transport without a network. The test delivers the bytes, and checks whether the connection has closed.
    private final class NoTransport: ConnectionTransport {
        let loop: EventLoop
        var isOver = false

        init(_ loop: EventLoop) { self.loop = loop }

        func requestFill() {}
        func pauseReading() {}
        func resumeReading() {}
        func finish() { isOver = true }
        func close() { isOver = true }
        func reset() { isOver = true }
    }

    /// Sends some requests over a connection without a socket.
    private static func runConnection(seed: Int, to subject: FuzzSubject) {
        var random = SeededGenerator(seed: seed)
        let transport = NoTransport(subject.loop)
        let port = ServedPort(
            service: random.number(below: 4) == 0 ? .channels : .push,
            environment: random.number(below: 4) == 0 ? .sandbox : .production)
        let connection = ServedConnection(
            transport: transport, simulator: subject.simulator, port: port, number: seed)
        connection.didEstablish(applicationProtocol: "h2")
        var limits = ClientLimits()
        limits.streamsBeforeSettings = requestsMax
        limits.streamsMax = requestsMax
        let client = ClientSession(limits: limits)
        for tag in 0..<(1 + random.number(below: requestsMax)) where !transport.isOver {
            submit(FuzzRequest.random(for: subject, using: &random), to: client, tag: UInt64(tag))
            var bytes = pulled { client.pull(into: $0) }
            if random.number(below: 20) == 0 { mutate(&bytes, using: &random) }
            feed(bytes, to: connection, using: &random)
            if !transport.isOver { giveAnswers(pulled { connection.fill($0) }, to: client) }
        }
        connection.didClose(reason: .closedLocally)
        client.end()
        // Advance by up to an hour, so that phones age.
        if random.number(below: 40) == 0 {
            _ = subject.simulator.advanceClock(milliseconds: Int64(random.number(below: 3_600_000)))
        }
    }

    private static func submit(_ request: TestRequest, to client: ClientSession, tag: UInt64) {
        guard
            let template = try? RequestTemplate(
                method: request.method, authority: "localhost",
                headers: request.headers.map { HeaderField(name: $0.0, value: $0.1) })
        else { return }
        let body = Array(request.body.utf8)
        client.submit(
            template: template, path: Array(request.path.utf8).span,
            body: body.isEmpty ? nil : SharedBody(copying: body.span),
            tag: tag)
    }

    // MARK: Bytes

    private static func mutate(_ bytes: inout [UInt8], using random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let position = random.number(below: bytes.count)
        switch random.number(below: 4) {
        case 0: bytes[position] ^= 1 << UInt8(random.number(below: 8))
        case 1: bytes[position] = UInt8(truncatingIfNeeded: random.next())
        case 2: bytes.removeSubrange(position..<min(bytes.count, position + 1 + random.number(below: 20)))
        default: bytes.insert(contentsOf: random.bytes(count: 1...40), at: position)
        }
    }

    /// Returns all bytes that a side has to send.
    private static func pulled(_ pull: (UnsafeMutableRawBufferPointer) -> Int) -> [UInt8] {
        var pulled: [UInt8] = []
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { buffer in
            while true {
                let count = pull(buffer)
                guard count > 0 else { return }
                pulled += buffer[..<count]
            }
        }
        return pulled
    }

    /// Gives the bytes to the server in pieces of random size.
    private static func feed(
        _ bytes: [UInt8], to connection: ServedConnection, using random: inout SeededGenerator
    ) {
        bytes.withUnsafeBytes { bytes in
            var position = 0
            while position < bytes.count {
                let end = min(bytes.count, position + 1 + random.number(below: 1_200))
                connection.didReceive(UnsafeRawBufferPointer(rebasing: bytes[position..<end]))
                position = end
            }
        }
    }

    private static func giveAnswers(_ bytes: [UInt8], to client: ClientSession) {
        bytes.withUnsafeBytes { client.receive($0) }
        client.clearOutcomes()
        _ = client.takeEvents()
    }
}

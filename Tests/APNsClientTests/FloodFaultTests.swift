import Cryptography
import HTTP2
import Lifecycle
import ProcessTesting
import TLS
import Telemetry
import Testing

@testable import APNs

/// Peers that send far too much. The connection ends, its pushes are unknown, and other pushes continue.
@Suite struct FloodFaultTests {
    enum Flood: CaseIterable {
        /// A header block that never ends.
        case continuations
        /// One SETTINGS frame with thousands of entries.
        case settings
        /// Frames that demand an answer, from a peer that does not read.
        case pings
        case emptySettings
        /// A frame above the size limit.
        case largeFrame
        /// Bytes that do not form frames.
        case noise

        static let totalMax = 512 * 1024 * 1024

        /// Returns the bytes that the flood repeats.
        func bytes(_ stream: Int32) -> [UInt8] {
            switch self {
            case .continuations: Flood.frame(9, 0, stream, [UInt8](repeating: 0, count: 8_000))
            case .settings: Flood.frame(4, 0, 0, [UInt8](repeating: 0x09, count: 6 * 2_500))
            case .pings:
                [[UInt8]](repeating: Flood.frame(6, 0, 0, [UInt8](repeating: 7, count: 8)), count: 500)
                    .flatMap(
                        \.self)
            case .emptySettings: [[UInt8]](repeating: Flood.frame(4, 0, 0, []), count: 1_000).flatMap(\.self)
            case .largeFrame:
                [0xFF, 0xFF, 0xFF, 0, 0] + Flood.big(stream) + [UInt8](repeating: 0, count: 8_000)
            case .noise: (0..<8_000).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) }
            }
        }

        /// Returns the bytes before the flood.
        func first(_ stream: Int32) -> [UInt8] {
            self == .continuations ? Flood.frame(1, 0, stream, [0x88]) : []
        }

        fileprivate static func frame(_ type: UInt8, _ flags: UInt8, _ stream: Int32, _ payload: [UInt8])
            -> [UInt8]
        {
            let count = payload.count
            return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags]
                + big(stream) + payload
        }

        private static func big(_ stream: Int32) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: stream >> $0) }
        }
    }

    @Test(.timeLimit(.minutes(3)), arguments: Flood.allCases)
    func `a flood ends its connection, and the next push uses another one`(flood: Flood) async throws {
        let flooded = TracedLock<ServedConnection?>(nil)
        let server = try ScriptedServer { connection, request in
            guard connection.number == 1, connection.requests > 1 else { return connection.accept(request) }
            flooded.withLock { $0 = connection }
            // The peer does not read the answers to its flood.
            connection.tls.pauseReading()
            let stream = request.stream.number
            connection.send(
                raw: flood.bytes(stream), after: flood.first(stream), total: Flood.totalMax)
        }
        let pusher = try Pusher(server) { $0.pool.connectionsMax = 1 }
        pusher.push(1..<2)
        #expect(try await pusher.outcome(1).end == .answered)
        pusher.push(2..<3)
        #expect(try await pusher.outcome(2).end == .unknown(.connectionLost))
        pusher.push(3..<4)
        #expect(try await pusher.outcome(3).end == .answered)
        #expect(server.read { $0.connections } == 2)
        let taken = server.loop.perform { flooded.withLock { $0?.floodedBytes } ?? nil } ?? nil
        #expect((taken ?? 0) < Flood.totalMax / 2, "the client read too much of the flood")
    }

    /// ":status 200", then a field of 4,000 bytes, and then that field again 10,000 times.
    private static let headerBomb =
        [0x88, 0x40, 0x01, UInt8(ascii: "x"), 0x7F, 0xA1, 0x1E]
        + [UInt8](repeating: UInt8(ascii: "y"), count: 4_000) + [UInt8](repeating: 0xBE, count: 10_000)

    @Test(.timeLimit(.minutes(3)))
    func `a small header block that expands to a large one ends only its stream`() async throws {
        let server = try ScriptedServer { connection, request in
            guard request.tag == 2 else { return connection.accept(request) }
            let bomb = Flood.frame(1, 5, request.stream.number, Self.headerBomb)
            connection.send(raw: bomb, after: [], total: bomb.count)
        }
        let pusher = try Pusher(server) {
            $0.pool.connectionsMax = 1
            // Only the end of the stream reports it.
            $0.pool.silentPingMilliseconds = 3_600_000
        }
        for tag: UInt64 in 1...3 {
            pusher.push(tag..<tag + 1)
            #expect(try await pusher.outcome(tag).end == (tag == 2 ? .unknown(.reset) : .answered))
        }
        #expect(server.read { $0.connections } == 1)
    }
}

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

        fileprivate static let endStream: UInt8 = 1
        fileprivate static let endHeaders: UInt8 = 4
        /// The number of bytes after which the peer stops.
        static let totalMax = 512 * 1024 * 1024

        /// The types of HTTP/2 frames.
        fileprivate enum FrameType {
            static let headers: UInt8 = 1
            static let settings: UInt8 = 4
            static let ping: UInt8 = 6
            static let continuation: UInt8 = 9
        }

        /// Returns the bytes that the flood repeats.
        func repeatedBytes(on stream: Int32) -> [UInt8] {
            switch self {
            case .continuations:
                Flood.frame(
                    type: FrameType.continuation, stream: stream, payload: [UInt8](repeating: 0, count: 8_000)
                )
            // An entry has 6 bytes.
            case .settings:
                Flood.frame(type: FrameType.settings, payload: [UInt8](repeating: 0x09, count: 6 * 2_500))
            case .pings:
                Flood.repeated(
                    Flood.frame(type: FrameType.ping, payload: [UInt8](repeating: 7, count: 8)), count: 500)
            case .emptySettings: Flood.repeated(Flood.frame(type: FrameType.settings), count: 1_000)
            // The first three bytes of a frame are its length.
            case .largeFrame:
                [0xFF, 0xFF, 0xFF, 0, 0] + Flood.bigEndian(stream) + [UInt8](repeating: 0, count: 8_000)
            case .noise: (0..<8_000).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) }
            }
        }

        /// Returns the bytes before the flood.
        func firstBytes(on stream: Int32) -> [UInt8] {
            self == .continuations
                ? Flood.frame(type: FrameType.headers, stream: stream, payload: [0x88]) : []
        }

        fileprivate static func frame(
            type: UInt8, flags: UInt8 = 0, stream: Int32 = 0, payload: [UInt8] = []
        ) -> [UInt8] {
            let count = payload.count
            return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags]
                + bigEndian(stream) + payload
        }

        private static func repeated(_ frame: [UInt8], count: Int) -> [UInt8] {
            [[UInt8]](repeating: frame, count: count).flatMap(\.self)
        }

        private static func bigEndian(_ stream: Int32) -> [UInt8] {
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
                raw: flood.repeatedBytes(on: stream), after: flood.firstBytes(on: stream),
                total: Flood.totalMax)
        }
        let pusher = try Pusher(server) { $0.pool.connectionsMax = 1 }
        pusher.push(1..<2)
        #expect(try await pusher.outcome(of: 1).end == .answered)
        pusher.push(2..<3)
        #expect(try await pusher.outcome(of: 2).end == .unknown(.connectionLost))
        pusher.push(3..<4)
        #expect(try await pusher.outcome(of: 3).end == .answered)
        #expect(server.read { $0.connections } == 2)
        let floodedBytes = server.loop.perform { flooded.withLock { $0?.floodedBytes ?? 0 } } ?? 0
        #expect(floodedBytes < Flood.totalMax / 2, "the client read too much of the flood")
    }

    /// ":status 200", then a field of 4,000 bytes, and then that field again 10,000 times.
    private static let headerBomb =
        [0x88, 0x40, 0x01, UInt8(ascii: "x"), 0x7F, 0xA1, 0x1E]
        + [UInt8](repeating: UInt8(ascii: "y"), count: 4_000) + [UInt8](repeating: 0xBE, count: 10_000)

    @Test(.timeLimit(.minutes(3)))
    func `a small header block that expands to a large one ends only its stream`() async throws {
        let server = try ScriptedServer { connection, request in
            guard request.tag == 2 else { return connection.accept(request) }
            let bomb = Flood.frame(
                type: Flood.FrameType.headers, flags: Flood.endStream | Flood.endHeaders,
                stream: request.stream.number, payload: Self.headerBomb)
            connection.send(raw: bomb, after: [], total: bomb.count)
        }
        let pusher = try Pusher(server) {
            $0.pool.connectionsMax = 1
            // Only the end of the stream reports it.
            $0.pool.silentPingMilliseconds = 3_600_000
        }
        for tag: UInt64 in 1...3 {
            pusher.push(tag..<tag + 1)
            #expect(try await pusher.outcome(of: tag).end == (tag == 2 ? .unknown(.reset) : .answered))
        }
        #expect(server.read { $0.connections } == 1)
    }
}

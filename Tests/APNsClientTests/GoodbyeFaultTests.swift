import Cryptography
import HTTP2
import Lifecycle
import ProcessTesting
import Simulation
import TLS
import Telemetry
import Testing

@testable import APNs

/// Closing connections, refused streams and changed limits: which pushes are sent again, and which are not. HTTP/2 says
/// that a refused stream, and a stream above the last one of a GOAWAY, was not processed. All others may have been.
@Suite struct GoodbyeFaultTests {
    /// Holds requests until there are five of them, then sends GOAWAY with one of them as the last stream.
    private final class GoawaySender: Sendable {
        private let state: TracedLock<(held: [Int: [ServedRequest]], random: SeededGenerator)>
        init(seed: Int) { state = TracedLock(([:], SeededGenerator(seed: seed))) }

        /// Accepts the first requests of a connection, and holds the next ones.
        func handle(_ request: ServedRequest, on connection: ServedConnection, after count: Int) {
            guard connection.requests > count else { return connection.accept(request) }
            let held: [ServedRequest] = state.withLock {
                $0.held[connection.number, default: []].append(request)
                return $0.held[connection.number] ?? []
            }
            guard held.count == 5 else { return }
            let lastIndex = state.withLock { $0.random.number(below: held.count) }
            connection.goaway(lastStream: held[lastIndex].stream.number)
            for request in held[...lastIndex] { connection.accept(request) }
        }
    }

    @Test(.timeLimit(.minutes(3)), arguments: [1, 2, 3])
    func `a GOAWAY every hundred requests loses and duplicates nothing`(seed: Int) async throws {
        let goawaySender = GoawaySender(seed: seed)
        let server = try ScriptedServer { connection, request in
            goawaySender.handle(request, on: connection, after: 100)
        }
        let pusher = try Pusher(server) { $0.pool.requestsMax = 100 }
        pusher.push(1..<2_001, deadlineMilliseconds: 120_000)
        let outcomes = try await pusher.allOutcomes(atLeast: 2_000)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.answered] })
        #expect(server.read { $0.accepted.count == 2_000 && $0.accepted.values.allSatisfy { $0.count == 1 } })
        #expect(server.read { $0.connections } > 10)
    }

    @Test func `a cut connection leaves its sent pushes unknown and sends nothing twice`() async throws {
        let server = try ScriptedServer { connection, request in
            if connection.number == 1, connection.requests == 50 { return connection.tls.close() }
            // The server has read the requests that are cut off, so they may be processed.
            if connection.number != 1 || connection.requests < 30 { connection.accept(request) }
        }
        let pusher = try Pusher(server) {
            $0.pool.requestsMax = 60
            $0.pool.connectionsMax = 1
        }
        pusher.push(1..<501)
        let outcomes = try await pusher.allOutcomes(atLeast: 500)
        let unknown = outcomes.values.filter { $0[0].end == .unknown(.connectionLost) }.count
        #expect((1...60).contains(unknown))
        #expect(outcomes.values.count { $0[0].end == .answered } == 500 - unknown)
        #expect(server.read { $0.accepted.values.allSatisfy { $0.count == 1 } })
    }

    @Test func `refused streams are sent again without duplicates`() async throws {
        let random = TracedLock(SeededGenerator(seed: 7))
        let server = try ScriptedServer { connection, request in
            let isRefused = random.withLock { $0.number(below: 20) == 0 }
            if isRefused {
                connection.reset(request, code: .refusedStream)
            } else {
                connection.accept(request)
            }
        }
        let pusher = try Pusher(server)
        pusher.push(1..<3_001)
        let outcomes = try await pusher.allOutcomes(atLeast: 3_000)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.answered] })
        #expect(server.read { $0.accepted.count == 3_000 && $0.accepted.values.allSatisfy { $0.count == 1 } })
    }

    @Test func `a stream that is reset with another code is unknown and not sent again`() async throws {
        let server = try ScriptedServer { connection, request in
            if request.tag % 10 == 0 {
                connection.reset(request, code: request.tag % 20 == 0 ? .internalError : .enhanceYourCalm)
            } else {
                connection.accept(request)
            }
        }
        let pusher = try Pusher(server)
        pusher.push(1..<501)
        let outcomes = try await pusher.allOutcomes(atLeast: 500)
        for (tag, pushOutcomes) in outcomes {
            #expect(pushOutcomes.map(\.end) == [tag % 10 == 0 ? .unknown(.reset) : .answered])
        }
        #expect(server.read { $0.requests } == 500)
    }

    @Test func `the client always obeys the peer's stream limit`() async throws {
        let limits = [1_000, 1, 0, 500, 7]
        let requestCount = TracedLock(0)
        let server = try ScriptedServer { connection, request in
            let number = requestCount.withLock { count in
                count += 1
                return count
            }
            if number % 300 == 0 {
                connection.change(streamsMax: limits[number / 300 % limits.count])
                // Otherwise requests would wait forever after a limit of 0.
                connection.after(milliseconds: 60) { connection.change(streamsMax: 400) }
            }
            connection.after(milliseconds: 1) { connection.accept(request) }
        }
        let pusher = try Pusher(server) { $0.pool.connectionsMax = 2 }
        pusher.push(1..<5_001)
        let outcomes = try await pusher.allOutcomes(atLeast: 5_000)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.answered] })
        #expect(server.read { $0.accepted.values.allSatisfy { $0.count == 1 } })
    }

    @Test func `requests that wait for a stream end at their deadline as unprocessed`() async throws {
        let server = try ScriptedServer { connection, request in
            connection.accept(request)
            connection.change(streamsMax: 0)
        }
        let pusher = try Pusher(server) { $0.pool.connectionsMax = 1 }
        pusher.push(1..<2)
        _ = try await pusher.outcome(of: 1)
        pusher.push(2..<5, deadlineMilliseconds: 300)
        let outcomes = try await pusher.allOutcomes(atLeast: 4)
        #expect((2...4).allSatisfy { outcomes[$0]?.map(\.end) == [.notProcessed(.noConnection)] })
        #expect(server.read { $0.requests } == 1)
    }

    @Test(arguments: [(503, "Shutdown"), (400, "IdleTimeout"), (403, "UnrelatedKeyIdInToken")])
    func `after an answer that ends its connection, the push uses another`(status: Int, reason: String)
        async throws
    {
        let server = try ScriptedServer { connection, request in
            if connection.number == 1, connection.requests > 10 {
                connection.refuse(request, status: status, reason: reason)
            } else {
                connection.accept(request)
            }
        }
        let pusher = try Pusher(server) { $0.pool.connectionsMax = 1 }
        pusher.push(1..<101)
        let outcomes = try await pusher.allOutcomes(atLeast: 100)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.answered] && $0[0].status == 200 })
        #expect(server.read { $0.connections } == 2)
    }
}

import Foundation
import HTTPServer
import Lifecycle
import Synchronization
import Testing

/// The stop of a server: requests under way are answered, and new ones are not accepted.
struct HTTPStopTests {
    /// Tells the clients that the server has stopped.
    private final class Stop: Sendable {
        let isOver = Atomic(false)
    }

    private let request = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"

    /// Starts a server with one handler that keeps its replies.
    private func server() throws -> (TestServer, HeldReplies) {
        let held = HeldReplies()
        let server = try TestServer { routes in
            routes.onDeferred(.get, path: "/wait") { _, reply in held.replies.withLock { $0.append(reply) } }
        }
        return (server, held)
    }

    /// The replies that the handler has not sent.
    private final class HeldReplies: Sendable {
        let replies = Mutex<[HTTPReply]>([])

        /// Waits until a request has reached the handler.
        func wait() {
            while replies.withLock({ $0.isEmpty }) { usleep(1000) }
        }
    }

    @Test(.timeLimit(.minutes(1))) func `requests in flight finish, then the connection closes`()
        async throws
    {
        let (server, held) = try server()
        async let exchange = server.exchange(request)
        try await onThread { held.wait() }
        async let stopped: Void = onThread { server.server.stop(by: .now().advanced(byMilliseconds: 20_000)) }
        // New connections are refused while the old request still waits for its answer.
        let port = server.port
        try await onThread { while (try? RawPeer(port: port)) != nil { usleep(1000) } }
        for reply in held.replies.withLock({ $0 }) { reply.send(.text("done")) }
        let (answers, isClosed) = try await exchange
        #expect(answers.map(\.body) == ["done"] && isClosed)
        #expect(answers.first?.header("connection")?.lowercased() == "close")
        try await stopped
    }

    @Test(.timeLimit(.minutes(1))) func `requests that do not finish in time are answered 503`() async throws
    {
        let (server, held) = try server()
        async let exchange = server.exchange(request)
        try await onThread { held.wait() }
        let stopMilliseconds = try await onThread {
            let begin = Instant.now()
            server.server.stop(by: begin.advanced(byMilliseconds: 100))
            return Instant.now().milliseconds(since: begin)
        }
        let (answers, isClosed) = try await exchange
        #expect(answers.map(\.code) == ["stopping"] && isClosed)
        #expect((100..<2_000).contains(stopMilliseconds))
        // The late reply must not touch freed memory.
        for reply in held.replies.withLock({ $0 }) { reply.send(.text("late")) }
    }

    @Test func `an idle server stops at once, and a second stop does nothing`() throws {
        let (server, _) = try server()
        let begin = Instant.now()
        server.server.stop(by: begin.advanced(byMilliseconds: 10_000))
        server.server.stop(by: begin)
        #expect(Instant.now().milliseconds(since: begin) < 2000)
    }

    @Test(.timeLimit(.minutes(1))) func `a server under load stops with all its connections`()
        async throws
    {
        for _ in 0..<5 {
            let server = try TestServer { routes in
                routes.onAsync(.get, path: "/wait") { _ in .text("later") }
            }
            let port = server.port
            // The clients end with the stop, because the port may belong to another process after it.
            let stop = Stop()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await onThread {
                            while !stop.isOver.load(ordering: .relaxed), let peer = try? RawPeer(port: port) {
                                peer.send(
                                    "GET /wait HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                                )
                                if peer.answers(atLeast: 2, within: 500).isEmpty { return }
                            }
                        }
                    }
                }
                group.addTask {
                    try await onThread {
                        // Some requests are under way when the stop begins.
                        usleep(20_000)
                        server.server.stop(by: .now().advanced(byMilliseconds: 1000))
                        stop.isOver.store(true, ordering: .relaxed)
                    }
                }
                try await group.waitForAll()
            }
            #expect(server.server.connectionCount == 0)
        }
    }
}

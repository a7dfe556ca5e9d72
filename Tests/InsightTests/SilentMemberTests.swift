import HTTPServer
import Lifecycle
import ProcessTesting
import Telemetry
import Testing

@testable import Members

/// A frozen process receives questions and does not answer.
@Suite struct SilentMemberTests {
    @Test func `a member that missed a deadline is not waited for until it answers again`() async throws {
        let member = try FrozenMember()
        async let first = member.ask(milliseconds: 3000)
        try await eventually("it has the first") { member.held == 1 }
        #expect(await !first)
        // Waiting for its answer would take a minute.
        let startedAt = Instant.now()
        #expect(await !member.ask(milliseconds: 60_000))
        #expect(Instant.now().seconds(since: startedAt) < 30)
        try await eventually("one question was sent as a probe") { member.held == 2 }
        // Further questions are not even sent.
        #expect(await !member.ask(milliseconds: 60_000))
        #expect(member.held == 2)
        // If no other member can answer, it is waited for.
        async let last = member.ask(milliseconds: 60_000, isLast: true)
        try await eventually("it has the last") { member.held == 3 }
        member.thaw()
        #expect(await last)
        try await eventually("it is asked again") { await member.ask(milliseconds: 60_000) }
        await member.end()
    }

    @Test func `a member that answered another question in the meantime is not silent`() async throws {
        for milliseconds in [3000, 20_000] {
            let member = try FrozenMember()
            let startedAt = Instant.now()
            async let long = member.ask(milliseconds: milliseconds)
            try await eventually("it has the long one") { member.held == 1 }
            member.thaw(keeping: 1)
            let isAnswered = await member.ask(milliseconds: 60_000)
            let isMeanwhile = Instant.now().seconds(since: startedAt) * 1000 < Double(milliseconds)
            _ = await long
            // On a busy machine the long question may end first.
            if isMeanwhile {
                #expect(isAnswered)
                #expect(await member.ask(milliseconds: 60_000))
                return await member.end()
            }
            await member.end()
        }
        Issue.record("no question was answered within 20 s")
    }
}

/// A member that holds questions until it is thawed, and its caller.
///
/// `@unchecked Sendable`: Its links are used on the loop only.
private final class FrozenMember: @unchecked Sendable {
    private struct Ice {
        var isThawed = false
        var held: [HTTPReply] = []
    }

    private static let path = "/parts"
    private let loop: EventLoop
    private let links: MemberClient
    private let server: HTTPServer
    private let member: Member
    private let ice: TracedLock<Ice>

    init() throws {
        loop = try EventLoop(name: "asks")
        links = MemberClient(on: loop)
        let ice = TracedLock(Ice())
        self.ice = ice
        var routes = HTTPRoutes()
        routes.onAdmission(.post, path: Self.path, bodyBytesMax: 1024) { _ in
            .admitted { _, reply in
                let isThawed = ice.withLock { ice in
                    if !ice.isThawed { ice.held.append(reply) }
                    return ice.isThawed
                }
                if isThawed { reply.send(.json(Array("{}".utf8))) }
            }
        }
        server = try HTTPServer(name: "frozen", host: "127.0.0.1", port: 0, routes: routes)
        member = Member(
            stage: "insight", process: "frozen", host: "127.0.0.1", port: server.port, secret: "s", lanes: [],
            startedAt: 0, at: 0)
        try loop.start()
    }

    var held: Int { ice.withLock { $0.held.count } }

    /// - Parameter count: The first questions, which get no answer.
    func thaw(keeping count: Int = 0) {
        let due = ice.withLock { ice in
            ice.isThawed = true
            let due = Array(ice.held.dropFirst(count))
            ice.held = Array(ice.held.prefix(count))
            return due
        }
        for reply in due { reply.send(.json(Array("{}".utf8))) }
    }

    /// Whether the member answered.
    func ask(milliseconds: Int, isLast: Bool = false) async -> Bool {
        await withCheckedContinuation { waiting in
            loop.execute {
                self.links.ask(
                    self.member, at: Self.path, body: [],
                    until: Instant.now().advanced(byMilliseconds: milliseconds), isLast: isLast
                ) {
                    waiting.resume(returning: $0 != nil)
                }
            }
        }
    }

    func end() async {
        thaw()
        _ = loop.perform { self.links.end() }
        loop.stop()
        await server.stop(by: Instant.now().advanced(byMilliseconds: 10_000))
    }
}

import HTTPServer
import Lifecycle
import ProcessTesting
import Telemetry
import Testing

@testable import Members

/// The questions of a process to a member that does not answer. `FrozenMember` receives questions and holds them, as a
/// frozen process does. `ask` returns whether it answered in time.
@Suite struct SilentMemberTests {
    @Test func `a member that missed a deadline is not waited for until it answers again`() async throws {
        let member = try FrozenMember()
        async let first = member.ask(milliseconds: 3000)
        try await eventually("it has the first") { member.heldCount == 1 }
        #expect(await !first)

        // The next question is not waited for. Its answer would take a minute.
        let startedAt = Instant.now()
        #expect(await !member.ask(milliseconds: 60_000))
        #expect(Instant.now().seconds(since: startedAt) < 30)
        try await eventually("one question was sent as a probe") { member.heldCount == 2 }
        // Further questions are not even sent.
        #expect(await !member.ask(milliseconds: 60_000))
        #expect(member.heldCount == 2)

        // If no other member can answer, it is waited for.
        async let last = member.ask(milliseconds: 60_000, isLast: true)
        try await eventually("it has the last") { member.heldCount == 3 }
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
            try await eventually("it has the long one") { member.heldCount == 1 }
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
/// `@unchecked Sendable`: Its client is used on the loop only.
private final class FrozenMember: @unchecked Sendable {
    private struct Questions {
        var isThawed = false
        var held: [HTTPReply] = []
    }

    private static let path = "/parts"
    private let loop: EventLoop
    private let client: MemberClient
    private let server: HTTPServer
    private let member: Member
    private let questions: TracedLock<Questions>

    init() throws {
        loop = try EventLoop(name: "asks")
        client = MemberClient(on: loop)
        let questions = TracedLock(Questions())
        self.questions = questions
        var routes = HTTPRoutes()
        routes.onAdmission(.post, path: Self.path, bodyBytesMax: 1024) { _ in
            .admitted { _, reply in
                let isThawed = questions.withLock { questions in
                    if !questions.isThawed { questions.held.append(reply) }
                    return questions.isThawed
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

    /// The number of questions that it has received and not answered.
    var heldCount: Int { questions.withLock { $0.held.count } }

    /// Answers the held questions, and from then on every question at once.
    ///
    /// - Parameter count: The number of questions, the first ones, that still get no answer.
    func thaw(keeping count: Int = 0) {
        let due = questions.withLock { questions in
            questions.isThawed = true
            let due = Array(questions.held.dropFirst(count))
            questions.held = Array(questions.held.prefix(count))
            return due
        }
        for reply in due { reply.send(.json(Array("{}".utf8))) }
    }

    /// Asks the member and returns whether it answered within the time.
    ///
    /// - Parameter isLast: Whether no other member can answer the question.
    func ask(milliseconds: Int, isLast: Bool = false) async -> Bool {
        await withCheckedContinuation { continuation in
            loop.execute {
                self.client.ask(
                    self.member, at: Self.path, body: [],
                    until: Instant.now().advanced(byMilliseconds: milliseconds), isLast: isLast
                ) {
                    continuation.resume(returning: $0 != nil)
                }
            }
        }
    }

    func end() async {
        thaw()
        _ = loop.perform { self.client.end() }
        loop.stop()
        await server.stop(by: Instant.now().advanced(byMilliseconds: 10_000))
    }
}

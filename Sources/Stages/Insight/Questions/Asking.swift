internal import HTTPClient
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Members
internal import Telemetry

/// The questions to all lanes. Its own lanes answer from their files, the others through the processes in
/// `members`.
final class Asking: Sendable {
    static let path = "/parts"

    private let rounds: LoopOwned<AskingRounds>

    init(_ rounds: LoopOwned<AskingRounds>) { self.rounds = rounds }

    /// Returns the rows of all lanes that answer in time.
    func ask(_ question: Question) async -> Findings {
        await withCheckedContinuation { waiting in
            let isTaken = rounds.execute { $0.ask(question) { waiting.resume(returning: $0) } }
            if !isTaken { waiting.resume(returning: Findings()) }
        }
    }

    /// Finds the rows of this process's lanes.
    ///
    /// - Parameters:
    ///   - body: The question that another process sent.
    ///   - then: Receives the rows, or nil if the body is not a question.
    func askOwn(_ body: [UInt8], then: @escaping @Sendable (Findings?) -> Void) {
        let isTaken = rounds.execute { then($0.answerOwn(body)) }
        if !isTaken { then(nil) }
    }

    /// Returns the processes of this stage that announce themselves in `members`.
    func knownMembers() async -> [Member] {
        await withCheckedContinuation { waiting in
            let isTaken = rounds.execute {
                waiting.resume(returning: $0.members.table.members(of: InsightService.name))
            }
            if !isTaken { waiting.resume(returning: []) }
        }
    }

    /// Returns the facts that processes of all stages publish in `members`.
    func knownProcesses() async -> [ProcessFacts] {
        await withCheckedContinuation { waiting in
            let isTaken = rounds.execute { waiting.resume(returning: $0.members.table.processes) }
            if !isTaken { waiting.resume(returning: []) }
        }
    }

}

/// The known members, the links to them, and the announcement of this process. It is confined to its loop.
final class AskingRounds {
    let members: MembersReader
    let announcer: MemberAnnouncer
    private let local: LaneReader
    private let links: MemberLinks
    private let own: String
    private let milliseconds: Int

    /// - Parameter own: The name of this process in `members`.
    init(
        _ local: LaneReader, _ members: MembersReader, announcer: MemberAnnouncer, own: String,
        milliseconds: Int, on loop: EventLoop
    ) {
        self.local = local
        self.members = members
        self.announcer = announcer
        self.own = own
        self.milliseconds = milliseconds
        links = MemberLinks(on: loop)
        members.begin()
    }

    func answerOwn(_ body: [UInt8]) -> Findings? {
        Question.read(body, with: local.reader).map { local.answer($0) }
    }

    func ask(_ question: Question, then: @escaping @Sendable (Findings) -> Void) {
        let gathering = Gathering(local.answer(question), then)
        let known = Set(gathering.found.lanes)
        var others: [String: Member] = [:]
        for (lane, owner) in members.table.owners(of: InsightService.name)
        where owner.process != own && !known.contains(lane) {
            others[owner.process] = owner
        }
        gathering.left = others.count
        if others.isEmpty { return gathering.end() }
        let body = question.encoded()
        let deadline = Instant.now().advanced(byMilliseconds: milliseconds)
        for member in others.values {
            links.ask(member, at: Asking.path, body, until: deadline) { [local] answer in
                if let answer, answer.status == 200, let body = answer.body,
                    let found = Findings.read(body, with: local.reader)
                {
                    gathering.found.add(found)
                }
                gathering.left -= 1
                if gathering.left == 0 { gathering.end() }
            }
        }
    }

    func end() {
        announcer.end()
        links.end()
    }
}

/// The answers of one question, which arrive one by one. It is confined to the loop.
private final class Gathering {
    var found: Findings
    var left = 0
    private let then: @Sendable (Findings) -> Void

    init(_ found: Findings, _ then: @escaping @Sendable (Findings) -> Void) {
        self.found = found
        self.then = then
    }

    func end() { then(found) }
}

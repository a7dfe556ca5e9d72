internal import HTTPClient
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Members
internal import Telemetry

/// Asks all lanes: its own from their files, the others through the processes that `members` names.
///
/// `@unchecked Sendable`: what is not constant is touched on the loop only.
final class Asking: @unchecked Sendable {
    static let path = "/parts"

    private let loop: EventLoop
    private let local: LaneReader
    private let members: MembersReader
    private let links: MemberLinks
    private let own: String
    private let milliseconds: Int

    /// - Parameter own: who this process is in `members`.
    init(
        on loop: EventLoop, local: LaneReader, members: MembersReader, own: String, milliseconds: Int
    ) {
        self.loop = loop
        self.local = local
        self.members = members
        self.own = own
        self.milliseconds = milliseconds
        links = MemberLinks(on: loop)
    }

    /// What all lanes that answered in time have found.
    func ask(_ question: Question) async -> Findings {
        await withCheckedContinuation { waiting in
            let isTaken = loop.execute { self.ask(question) { waiting.resume(returning: $0) } }
            if !isTaken { waiting.resume(returning: Findings()) }
        }
    }

    /// What the lanes of this process have found.
    ///
    /// - Parameters:
    ///   - body: the question, as another process has sent it.
    ///   - then: nil when it is none.
    func askOwn(_ body: [UInt8], then: @escaping @Sendable (Findings?) -> Void) {
        let isTaken = loop.execute {
            let question = Question.read(body, with: self.local.reader)
            then(question.map { self.local.answer($0) })
        }
        if !isTaken { then(nil) }
    }

    /// Those that tell of themselves in `members`.
    func knownMembers() async -> [Member] {
        await withCheckedContinuation { waiting in
            let isTaken = loop.execute {
                waiting.resume(returning: self.members.table.members(of: InsightService.name))
            }
            if !isTaken { waiting.resume(returning: []) }
        }
    }

    /// What processes of any stages say of themselves there.
    func knownProcesses() async -> [ProcessFacts] {
        await withCheckedContinuation { waiting in
            let isTaken = loop.execute { waiting.resume(returning: self.members.table.processes) }
            if !isTaken { waiting.resume(returning: []) }
        }
    }

    // MARK: On the loop

    private func ask(_ question: Question, then: @escaping @Sendable (Findings) -> Void) {
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
            links.ask(member, at: Self.path, body, until: deadline) { [local] answer in
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

    func end() { links.end() }
}

/// Answers that come one by one. Confined to the loop.
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

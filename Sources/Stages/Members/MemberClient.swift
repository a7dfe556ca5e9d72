package import HTTPClient
package import Lifecycle

/// A client for queries to members over HTTP, on reused connections. A frozen member accepts queries and does
/// not answer. The first caller waits its full time. After that, no caller waits for the member until it has
/// answered a query. Confined to its loop.
package final class MemberClient {
    /// The maximum number of queries in flight. A further query fails at once.
    package static let queriesMax = 500
    /// The maximum number of idle connections to one member. Further ones are closed.
    private static let idleMax = 8
    /// The maximum number of remembered addresses, including members that are gone. Beyond it, everything
    /// except open connections is forgotten. This costs one full wait for each frozen member.
    private static let rememberedMax = 1000

    private let loop: EventLoop
    private var idleConnections: [String: [MemberConnection]] = [:]
    private var queriesInFlight = 0
    /// The time of each member's last answer.
    private var lastAnswers: [String: Instant] = [:]
    /// Members that let a query time out.
    private var silentMembers: Set<String> = []
    /// Silent members with one query in flight that tests whether they answer again.
    private var probedMembers: Set<String> = []

    package init(on loop: EventLoop) { self.loop = loop }

    /// Sends a query.
    ///
    /// - Parameters:
    ///   - isLast: whether no other member is left, so that even a silent member is waited for.
    ///   - then: receives nil if there is no answer in time.
    package func ask(
        _ member: Member, at path: String, body: [UInt8], until deadline: Instant, isLast: Bool = false,
        then: @escaping (HTTPClientResponse?) -> Void
    ) {
        guard queriesInFlight < Self.queriesMax else { return then(nil) }
        let isSilent = !isLast && silentMembers.contains(member.address)
        if isSilent {
            then(nil)
            guard probedMembers.insert(member.address).inserted else { return }
        }
        queriesInFlight += 1
        let began = Instant.now()
        let request = HTTPClientConnection.Request(
            method: "POST", path: path, apiKey: member.secret, body: body)
        send(request, to: member, until: deadline, mayReuse: true) { [self] answer in
            queriesInFlight -= 1
            recordOutcome(isAnswered: answer != nil, of: member, since: began, deadline: deadline)
            if !isSilent { then(answer) }
        }
    }

    /// Records whether the member answered. A slow query alone does not make a member silent if it answered
    /// another one in the meantime.
    private func recordOutcome(isAnswered: Bool, of member: Member, since began: Instant, deadline: Instant) {
        probedMembers.remove(member.address)
        if isAnswered {
            if lastAnswers.count >= Self.rememberedMax { forgetMembers() }
            lastAnswers[member.address] = .now()
            silentMembers.remove(member.address)
            return
        }
        let wasSilent = lastAnswers[member.address].map { $0 < began } ?? true
        if wasSilent, Instant.now() >= deadline { silentMembers.insert(member.address) }
    }

    private func forgetMembers() {
        lastAnswers.removeAll()
        silentMembers.removeAll()
        idleConnections = idleConnections.filter { !$0.value.isEmpty }
    }

    private func send(
        _ request: HTTPClientConnection.Request, to member: Member, until deadline: Instant, mayReuse: Bool,
        then: @escaping (HTTPClientResponse?) -> Void
    ) {
        var known = idleConnections[member.address] ?? []
        known.removeAll { $0.link.hasEnded }
        let used = mayReuse ? known.popLast() : nil
        idleConnections[member.address] = known
        let line = used ?? MemberConnection(to: member, on: loop)
        line.then = { [self] outcome in
            switch outcome {
            case .answered(let answer):
                keepIdle(line, of: member)
                then(answer)
            case .failed:
                line.link.end()
                // The other side may have closed the idle connection at that moment.
                if used != nil {
                    send(request, to: member, until: deadline, mayReuse: false, then: then)
                } else {
                    then(nil)
                }
            }
        }
        line.link.send(request, deadline: deadline)
    }

    private func keepIdle(_ line: MemberConnection, of member: Member) {
        guard !line.link.hasEnded else { return }
        guard idleConnections[member.address, default: []].count < Self.idleMax else {
            return line.link.end()
        }
        idleConnections[member.address, default: []].append(line)
    }

    package func end() {
        for lines in idleConnections.values { for line in lines { line.link.end() } }
        idleConnections = [:]
    }
}

/// One connection and the caller that waits for its answer.
private final class MemberConnection {
    let link: HTTPClientConnection
    var then: ((HTTPClientConnection.ExchangeOutcome) -> Void)? {
        get { box.then }
        set { box.then = newValue }
    }
    private let box: CompletionBox

    private final class CompletionBox { var then: ((HTTPClientConnection.ExchangeOutcome) -> Void)? }

    init(to member: Member, on loop: EventLoop) {
        let box = CompletionBox()
        self.box = box
        link = HTTPClientConnection(host: member.host, port: member.port, on: loop) { outcome in
            let then = box.then
            box.then = nil
            then?(outcome)
        }
    }
}

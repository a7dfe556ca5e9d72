package import HTTPClient
package import Lifecycle

/// A client for queries to members over HTTP, on reused connections. A frozen member accepts queries and does
/// not answer. The first caller waits its full time. After that, no caller waits for the member until it has
/// answered a query. Confined to its loop.
package final class MemberLinks {
    /// The maximum number of queries in flight. A further query fails at once.
    package static let questionsMax = 500
    /// The maximum number of idle connections to one member. Further ones are closed.
    private static let idleMax = 8
    /// The maximum number of remembered addresses, including members that are gone. Beyond it, everything
    /// except open connections is forgotten. This costs one full wait for each frozen member.
    private static let rememberedMax = 1000

    private let loop: EventLoop
    private var idle: [String: [Line]] = [:]
    private var asking = 0
    /// The time of each member's last answer.
    private var heard: [String: Instant] = [:]
    /// Members that let a query time out.
    private var silent: Set<String> = []
    /// Silent members with one query in flight that tests whether they answer again.
    private var probed: Set<String> = []

    package init(on loop: EventLoop) { self.loop = loop }

    /// Sends a query.
    ///
    /// - Parameters:
    ///   - isLast: whether no other member is left, so that even a silent member is waited for.
    ///   - then: receives nil if there is no answer in time.
    package func ask(
        _ member: Member, at path: String, _ body: [UInt8], until deadline: Instant, isLast: Bool = false,
        then: @escaping (HTTPAnswer?) -> Void
    ) {
        guard asking < Self.questionsMax else { return then(nil) }
        let isSilent = !isLast && silent.contains(member.address)
        if isSilent {
            then(nil)
            guard probed.insert(member.address).inserted else { return }
        }
        asking += 1
        let began = Instant.now()
        let request = HTTPLink.Request("POST", path, key: member.secret, body: body)
        send(request, to: member, until: deadline, mayReuse: true) { [self] answer in
            asking -= 1
            note(answer != nil, of: member, since: began, deadline)
            if !isSilent { then(answer) }
        }
    }

    /// Records whether the member answered. A slow query alone does not make a member silent if it answered
    /// another one in the meantime.
    private func note(_ isAnswered: Bool, of member: Member, since began: Instant, _ deadline: Instant) {
        probed.remove(member.address)
        if isAnswered {
            if heard.count >= Self.rememberedMax { forget() }
            heard[member.address] = .now()
            silent.remove(member.address)
            return
        }
        let hasBeenStill = heard[member.address].map { $0 < began } ?? true
        if hasBeenStill, Instant.now() >= deadline { silent.insert(member.address) }
    }

    private func forget() {
        heard.removeAll()
        silent.removeAll()
        idle = idle.filter { !$0.value.isEmpty }
    }

    private func send(
        _ request: HTTPLink.Request, to member: Member, until deadline: Instant, mayReuse: Bool,
        then: @escaping (HTTPAnswer?) -> Void
    ) {
        var known = idle[member.address] ?? []
        known.removeAll { $0.link.isOver }
        let used = mayReuse ? known.popLast() : nil
        idle[member.address] = known
        let line = used ?? Line(to: member, on: loop)
        line.then = { [self] outcome in
            switch outcome {
            case .answered(let answer):
                keep(line, of: member)
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

    private func keep(_ line: Line, of member: Member) {
        guard !line.link.isOver else { return }
        guard idle[member.address, default: []].count < Self.idleMax else { return line.link.end() }
        idle[member.address, default: []].append(line)
    }

    package func end() {
        for lines in idle.values { for line in lines { line.link.end() } }
        idle = [:]
    }
}

/// One connection and the caller that waits for its answer.
private final class Line {
    let link: HTTPLink
    var then: ((HTTPLink.Outcome) -> Void)? {
        get { box.then }
        set { box.then = newValue }
    }
    private let box: Box

    private final class Box { var then: ((HTTPLink.Outcome) -> Void)? }

    init(to member: Member, on loop: EventLoop) {
        let box = Box()
        self.box = box
        link = HTTPLink(host: member.host, port: member.port, on: loop) { outcome in
            let then = box.then
            box.then = nil
            then?(outcome)
        }
    }
}

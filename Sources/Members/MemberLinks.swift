package import HTTPClient
package import Lifecycle

/// Asks members over HTTP, on connections that are used again. One that is frozen takes questions and answers none:
/// whoever asked first has waited his time, and nobody waits for it again before it has answered one. Confined to its
/// loop.
package final class MemberLinks {
    /// Questions on their way; a further one fails at once.
    package static let questionsMax = 500
    /// Connections to one member that wait for the next question; further ones are closed.
    private static let idleMax = 8
    /// Addresses that are remembered, of members that are gone, too; beyond it all but open connections is forgotten,
    /// which costs one wait for who is frozen.
    private static let rememberedMax = 1000

    private let loop: EventLoop
    private var idle: [String: [Line]] = [:]
    private var asking = 0
    /// When each was last heard.
    private var heard: [String: Instant] = [:]
    /// Those that let a question's time pass.
    private var silent: Set<String> = []
    /// Those of them that have one question, to see if they answer again.
    private var probed: Set<String> = []

    package init(on loop: EventLoop) { self.loop = loop }

    /// - Parameters:
    ///   - isLast: nobody else is left to be asked, so that one that is silent is waited for, too.
    ///   - then: nil without an answer in time.
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

    /// A question may be long; who has answered another meanwhile is not silent.
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
                // A connection that waited may have been closed by the other side just then.
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

/// One connection, and who waits for its answer.
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

package import HTTPClient
package import Lifecycle

/// A client that sends queries to members over HTTP, on reused connections. Confined to its loop.
///
/// A frozen member accepts queries and does not answer. The first caller waits until its deadline. Then the
/// member counts as silent: callers get no answer at once, and one query at a time probes the member, until it
/// answers.
package final class MemberClient {
    /// The maximum number of queries in flight. A further query fails at once.
    package static let queriesMax = 500
    /// The maximum number of idle connections to one member. Further ones are closed.
    private static let idleMax = 8
    /// The maximum number of addresses with a last answer, including members that are gone. Beyond it,
    /// everything except open connections is forgotten. Then each silent member costs one caller its full time
    /// again.
    private static let rememberedMax = 1000

    private let loop: EventLoop
    private var queriesInFlight = 0
    /// The idle connections, by the address of their member.
    private var idleConnections: [String: [MemberConnection]] = [:]
    /// The time of each member's last answer.
    private var lastAnswers: [String: Instant] = [:]
    /// Members that let a query time out.
    private var silentMembers: Set<String> = []
    /// Silent members with a probe in flight.
    private var probedMembers: Set<String> = []

    package init(on loop: EventLoop) { self.loop = loop }

    /// Sends a query.
    ///
    /// - Parameters:
    ///   - isLast: Whether the caller cannot ask another member, so that it waits even for a silent member.
    ///   - then: Receives nil if there is no answer in time.
    package func ask(
        _ member: Member, at path: String, body: [UInt8], until deadline: Instant, isLast: Bool = false,
        then: @escaping (HTTPClientResponse?) -> Void
    ) {
        guard queriesInFlight < Self.queriesMax else { return then(nil) }
        let isProbe = !isLast && silentMembers.contains(member.address)
        if isProbe {
            // The caller does not wait for a silent member. Its query goes on as the probe, unless there is one
            // already.
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
            if !isProbe { then(answer) }
        }
    }

    /// Records whether the member answered. A member that answered another query since `began` is only slow,
    /// not silent.
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
        var idle = idleConnections[member.address] ?? []
        idle.removeAll { $0.http.hasEnded }
        let reused = mayReuse ? idle.popLast() : nil
        idleConnections[member.address] = idle
        let connection = reused ?? MemberConnection(to: member, on: loop)
        connection.onOutcome = { [self] outcome in
            switch outcome {
            case .answered(let answer):
                keepIdle(connection, of: member)
                then(answer)
            case .failed:
                connection.http.end()
                // The member may have closed the idle connection at that moment.
                if reused != nil {
                    send(request, to: member, until: deadline, mayReuse: false, then: then)
                } else {
                    then(nil)
                }
            }
        }
        connection.http.send(request, deadline: deadline)
    }

    private func keepIdle(_ connection: MemberConnection, of member: Member) {
        guard !connection.http.hasEnded else { return }
        guard idleConnections[member.address, default: []].count < Self.idleMax else {
            return connection.http.end()
        }
        idleConnections[member.address, default: []].append(connection)
    }

    /// Closes the idle connections.
    package func end() {
        for connections in idleConnections.values {
            for connection in connections { connection.http.end() }
        }
        idleConnections = [:]
    }
}

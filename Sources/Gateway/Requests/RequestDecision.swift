internal import Catalog
internal import HTTPServer
internal import JSON
internal import LiveActivity
internal import Telemetry

/// What follows from a request.
enum RequestDecision {
    case answer(HTTPResponse)
    /// These records are stored, all at once; then this is the answer.
    case store([OutgoingRecord], HTTPResponse)
    /// The order is stored; then it waits for what the scheduler says.
    case ask(ScheduleQuestion)
    /// The audit is stored, then the catalogue is changed, then this gateway knows it; then this is the answer.
    case change(CatalogChange, HTTPResponse)
}

/// A record on its way to Kafka.
struct OutgoingRecord: Sendable {
    enum Destination: Int, Sendable, CaseIterable {
        case sends
        case schedules
        case reports
        case audit
        case catalog
    }

    let destination: Destination
    let key: [UInt8]
    let value: [UInt8]?

    static func audit(_ entry: AuditEntry) -> OutgoingRecord {
        OutgoingRecord(destination: .audit, key: entry.key, value: entry.encoded())
    }

    static func report(_ report: Report) -> OutgoingRecord {
        OutgoingRecord(destination: .reports, key: report.key, value: report.encoded())
    }
}

/// What a request is judged by.
struct RequestContext {
    let body: [UInt8]
    let headers: HTTPHeaders
    /// What the path's `{name}` segments matched.
    var parameters: [String: String] = [:]
    /// What stands behind the path's question mark.
    var query: [(name: String, value: String)] = []
    /// What the request's key may do; a person at a machine may send.
    let role: APIKey.Role
    let users: UserProofCheck
    /// A key's id, or a person at a machine; and where that is.
    let author: String
    let address: String?
    /// As it is now, which may be later than when the request was let in.
    let app: App
    let catalog: KnownCatalog
    let now: WallTime
    let reader: JSONReader

    func audit(_ action: String, subject: String) -> OutgoingRecord {
        var entry = AuditEntry(
            at: max(0, now.milliseconds), by: author, action: action, app: app.id, subject: subject)
        entry.address = address
        return .audit(entry)
    }

    /// What is wrong with who asks for a user's own things; nothing when it is that user, or the app's server.
    func unproven(_ user: String, _ proof: String?, proofAt field: String) -> [RequestProblem] {
        switch users.verdict(on: user, proof: proof, for: app, isTrusted: role.includes(.read)) {
        case .good: []
        case .missing: [RequestProblem("user_proof_missing", at: field, UserProofCheck.missing)]
        case .wrong: [RequestProblem("user_proof_wrong", at: field, UserProofCheck.wrong)]
        case .impossible: [RequestProblem("user_proof_wrong", at: field, UserProofCheck.impossible)]
        }
    }

    /// The name in the path, if it can be one.
    func name(_ parameter: String) throws(RefusedRequest) -> String {
        let name = parameters[parameter] ?? ""
        if let problem = Name.problem(name) {
            throw RefusedRequest([RequestProblem("invalid", at: parameter, problem)])
        }
        return name
    }

    /// The body's root, an object, good until the next body is read; what is wrong in it is in `problems`.
    func root() throws(RefusedRequest) -> JSONValue {
        let root = try document()
        if root.kind != .object {
            _ = root.object()
            try throwProblems()
        }
        return root
    }

    private func document() throws(RefusedRequest) -> JSONValue {
        do throws(JSONError) {
            return try unsafe body.span.withUnsafeBytes { bytes throws(JSONError) in
                try unsafe reader.begin(bytes)
            }
        } catch { throw RefusedRequest(error) }
    }

    var problems: [RequestProblem] { reader.error.map { $0.problems.map(RequestProblem.init) } ?? [] }

    func throwProblems() throws(RefusedRequest) {
        if let error = reader.error { throw RefusedRequest(error) }
    }

    /// A request that has no body has none.
    func refuseBody() throws(RefusedRequest) {
        if !body.isEmpty {
            throw RefusedRequest([RequestProblem("invalid", at: "", "the request must have no body")])
        }
    }
}

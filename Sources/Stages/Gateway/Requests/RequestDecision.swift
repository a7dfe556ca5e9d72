internal import Catalog
internal import HTTPServer
internal import JSON
internal import LiveActivity
internal import Telemetry

/// The consequence of a request.
enum RequestDecision {
    case answer(HTTPResponse)
    /// The records are stored together, then the response is sent.
    case store([OutgoingRecord], HTTPResponse)
    /// The order is stored, then the request waits for the scheduler's reply.
    case askScheduler(SchedulerRequest)
    /// The audit record is stored, then the catalog changes and this gateway reads the change, then the
    /// response is sent.
    case changeCatalog(CatalogChange, HTTPResponse)
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

/// The inputs of a request's decision.
struct RequestContext {
    let body: [UInt8]
    let headers: HTTPHeaders
    /// The values of the path's `{name}` segments.
    var parameters: [String: String] = [:]
    /// The query parameters.
    var query: [(name: String, value: String)] = []
    /// The role of the request's key. An operator on the command line has the role `send`.
    let role: APIKey.Role
    let userProofs: UserProofCheck
    /// The key's id or the operator's name.
    let author: String
    /// The client's address, or nil for an operator on the command line.
    let address: String?
    /// The app as it is now. It can be newer than at admission.
    let app: App
    let catalog: CatalogSnapshot
    let now: WallTime
    let reader: JSONReader

    func auditRecord(action: String, subject: String) -> OutgoingRecord {
        var entry = AuditEntry(
            at: max(0, now.milliseconds), author: author, action: action, app: app.id, subject: subject)
        entry.address = address
        return .audit(entry)
    }

    /// Returns the problems of a user's proof. A valid proof or a key of the app's server has no problems.
    func proofProblems(of user: String, proof: String?, at field: String) -> [RequestProblem] {
        switch userProofs.verdict(on: user, proof: proof, for: app, isTrusted: role.includes(.read)) {
        case .valid: []
        case .missing:
            [RequestProblem(code: "user_proof_missing", at: field, message: UserProofCheck.missingMessage)]
        case .wrong:
            [RequestProblem(code: "user_proof_wrong", at: field, message: UserProofCheck.wrongMessage)]
        case .uncheckable:
            [RequestProblem(code: "user_proof_wrong", at: field, message: UserProofCheck.uncheckableMessage)]
        }
    }

    /// Returns the name in the path, or throws if it is not a valid name.
    func name(inPath parameter: String) throws(RefusedRequest) -> String {
        let name = parameters[parameter] ?? ""
        if let problem = NameRules.problem(name) {
            throw RefusedRequest([RequestProblem(code: "invalid", at: parameter, message: problem)])
        }
        return name
    }

    /// Returns the body's root object. It is valid until the next body is read. Problems of its fields go to
    /// `problems`.
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

    /// Refuses a body on a call that takes none.
    func refuseBody() throws(RefusedRequest) {
        if !body.isEmpty {
            throw RefusedRequest([
                RequestProblem(code: "invalid", at: "", message: "the request must have no body")
            ])
        }
    }
}

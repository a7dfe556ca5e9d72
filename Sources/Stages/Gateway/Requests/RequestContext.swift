internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Schedules
internal import Telemetry
internal import TokenSealing

/// The input of a request's decision: the request itself, its caller, and the catalog and time of the decision.
///
/// The body is read once, into `reader`. Problems that are found while its fields are read collect in `problems`.
struct RequestContext {
    // The request.
    let body: [UInt8]
    let headers: HTTPHeaders
    /// The values of the path's `{name}` segments.
    var parameters: [String: String] = [:]
    /// The query parameters.
    var query: [(name: String, value: String)] = []
    /// The id of the HTTP request. Nil for an operator on the command line.
    var requestID: String?
    // The caller.
    /// The role of the request's key. An operator on the command line has the role `send`.
    let role: APIKey.Role
    let userProofs: UserProofCheck
    /// The key's id or the operator's name.
    let author: String
    /// The client's address, or nil for an operator on the command line.
    let address: String?
    /// The app as the catalog has it now. It can be newer than at admission.
    let app: App
    /// Whether the key has the role `report`, which phones have: it is in the app's binary.
    var isFromPhone: Bool { !role.includes(.read) }

    // The decision.
    let catalog: CatalogSnapshot
    /// Whether the catalog was read to its end after the request arrived.
    var isCatalogCurrent = false
    let now: WallTime
    /// The reader of bodies, which all requests of a thread share.
    let reader: JSONReader

    // MARK: Records of the decision

    /// The time of the decision as records have it: in milliseconds since 1970, and never negative.
    var acceptedAt: Int64 { max(0, now.milliseconds) }

    /// Makes the record that names the caller and this action in the audit.
    func auditRecord(action: String, subject: String) -> OutgoingRecord {
        .audit(auditEntry(action: action, subject: subject))
    }

    /// Makes the audit records of an action on a schedule: one for a backend, and none for a phone. A phone's command
    /// stays in `schedules`, as a report stays in `reports`, and names the key and the address.
    func auditRecords(ofScheduleAction action: String, subject: String) -> [OutgoingRecord] {
        isFromPhone ? [] : [auditRecordOfSend(action: action, subject: subject)]
    }

    /// Makes the record that names the caller and this action in the audit of sends.
    func auditRecordOfSend(action: String, subject: String) -> OutgoingRecord {
        .auditOfSends(auditEntry(action: action, subject: subject))
    }

    private func auditEntry(action: String, subject: String) -> AuditEntry {
        var entry = AuditEntry(
            at: acceptedAt, author: author, action: action, app: app.id, subject: subject)
        (entry.address, entry.requestID) = (address, requestID)
        return entry
    }

    /// Makes a command to the scheduler that names the caller.
    func scheduleCommand(
        _ action: ScheduleCommand.Action, of owner: ScheduleOwner, acceptedAt: Int64
    ) -> ScheduleCommand {
        var command = ScheduleCommand(action, app: app.id, owner: owner, acceptedAt: acceptedAt)
        (command.author, command.address) = (author, address)
        return command
    }

    /// The seal of secrets that the catalog holds.
    var seal: TokenSeal { userProofs.seal }

    // MARK: Checks of the request

    /// Returns the problems of the proof that a phone acts for this user. A key that only the app's server has needs
    /// no proof.
    ///
    /// - Parameter field: The field or header of the request that holds the proof.
    func proofProblems(of user: String, proof: String?, at field: String) -> [RequestProblem] {
        let verdict = userProofs.verdict(
            on: user, of: nil, proof: proof, for: app, isTrusted: !isFromPhone, now: now)
        guard let problem = verdict.problem else { return [] }
        return [RequestProblem(code: problem.code, at: field, message: problem.message)]
    }

    /// Returns the name in the path, or throws if it is not a valid name.
    func name(inPath parameter: String) throws(RefusedRequest) -> String {
        let name = parameters[parameter] ?? ""
        if let problem = NameRules.problem(name) {
            throw RefusedRequest([RequestProblem(code: "invalid", at: parameter, message: problem)])
        }
        return name
    }

    /// Refuses a body on a call that takes none.
    func refuseBody() throws(RefusedRequest) {
        if !body.isEmpty {
            throw RefusedRequest([
                RequestProblem(code: "invalid", at: "", message: "the request must have no body")
            ])
        }
    }

    /// Returns the body's root object, or throws if the body is no JSON object. The object is valid until the reader
    /// reads the next body.
    func bodyRoot() throws(RefusedRequest) -> JSONValue {
        let root = try parsedBody()
        if root.kind != .object {
            // Reports the problem that the next line throws.
            _ = root.object()
            try throwProblems()
        }
        return root
    }

    private func parsedBody() throws(RefusedRequest) -> JSONValue {
        do throws(JSONError) {
            return try unsafe body.span.withUnsafeBytes { bytes throws(JSONError) in
                try unsafe reader.begin(bytes)
            }
        } catch { throw RefusedRequest(error) }
    }

    /// The problems of the body's fields that have been read.
    var problems: [RequestProblem] { reader.error.map { $0.problems.map(RequestProblem.init) } ?? [] }

    /// Throws the problems of the body's fields, if there are any.
    func throwProblems() throws(RefusedRequest) {
        if let error = reader.error { throw RefusedRequest(error) }
    }
}

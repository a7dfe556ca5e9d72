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
    /// The audit is stored, then the catalogue is changed, then this gateway knows it; then this is the answer.
    case change(CatalogChange, HTTPResponse)
}

/// A record on its way to Kafka.
struct OutgoingRecord: Sendable {
    enum Destination: Int, Sendable, CaseIterable {
        case sends
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
    /// A key's id, or a person at a machine; and where that is.
    let author: String
    let address: String?
    /// As it is now, which may be later than when the request was let in.
    let app: App
    let view: CatalogView
    let now: WallTime
    let reader: JSONReader

    func audit(_ action: String, subject: String) -> OutgoingRecord {
        var entry = AuditEntry(
            at: max(0, now.milliseconds), by: author, action: action, app: app.id, subject: subject)
        entry.address = address
        return .audit(entry)
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

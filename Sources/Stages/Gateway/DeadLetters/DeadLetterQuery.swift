internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Replay

/// The selection of dead letters by a call, and its options: read from query parameters, from a path or from a body. It
/// always covers only the app of the key.
struct DeadLetterQuery: Sendable {
    static let limitDefault = 100
    static let limitMax = 1_000

    private(set) var filter = DeadLetterFilter()
    private(set) var limit = limitDefault
    /// The position behind which a list continues.
    private(set) var after: DeadLetterPosition?
    /// Whether redriven and discarded dead letters are included.
    private(set) var includesSettled = false
    private(set) var isDryRun = false
    /// The problems of the query parameters.
    private var problems: [RequestProblem] = []

    // MARK: Read calls

    /// The answer that a read call wants.
    enum Answer {
        /// The sums by reason.
        case sums
        /// A page of the list.
        case list

        fileprivate var parameterNames: [String] {
            ["stage", "reason", "since", "until"] + (self == .list ? ["limit", "cursor"] : []) + ["settled"]
        }
    }

    /// Selects dead letters by query parameters, such as `?stage=sender&since=1795809600000`.
    init(
        parameters: [(name: String, value: String)], of app: String, for answer: Answer
    ) throws(RefusedRequest) {
        filter.app = app
        var seenNames: Set<String> = []
        for (name, value) in parameters {
            if !seenNames.insert(name).inserted {
                add(code: "duplicate_key", at: name, message: "occurs twice")
            }
            switch name {
            case "limit" where answer == .list: readLimit(value)
            case "cursor" where answer == .list: readCursor(value)
            case "settled":
                if value != "true" { add(code: "invalid", at: name, message: "must be true, or be omitted") }
                includesSettled = true
            case "since": filter.since = readTime(value, of: name)
            case "until": filter.until = readTime(value, of: name)
            case "stage": filter.stage = readName(value, of: name)
            case "reason": filter.code = readName(value, of: name)
            default:
                add(
                    code: "unknown_field", at: name,
                    message:
                        "is not a parameter of this call; use \(answer.parameterNames.joined(separator: ", "))"
                )
            }
        }
        try throwProblems()
    }

    /// Selects one dead letter by its place in the topic, which is also its id: `3/1042`.
    init(partition: String?, offset: String?, of app: String) throws(RefusedRequest) {
        filter.app = app
        guard let id = DeadLetterID("\(partition ?? "")/\(offset ?? "")") else {
            throw Self.unknownDeadLetter
        }
        filter.ids = [id]
        includesSettled = true
    }

    static let unknownDeadLetter = RefusedRequest(
        [
            RequestProblem(
                code: "letter_unknown", at: "",
                message: "this app has no such dead letter; GET /v1/dead-letters/each lists them"
            )
        ], status: 404)

    // MARK: Write calls

    /// Selects dead letters by a body, such as `{"letters":["3/1042"]}`. The reader of the body collects its problems.
    init(body root: JSONValue, of app: String) {
        filter.app = app
        let object = root.object()
        if let ids = object["letters"].optional {
            for text in ids.names(countMax: DeadLetterFilter.idsMax) {
                guard let id = DeadLetterID(text) else {
                    ids.report("must name dead letters by partition and offset, such as 3/1042")
                    break
                }
                filter.ids.insert(id)
            }
        }
        filter.stage = object["stage"].optional?.name()
        filter.code = object["reason"].optional?.name()
        filter.since = object["since"].optional?.timeMilliseconds()
        filter.until = object["until"].optional?.timeMilliseconds()
        isDryRun = object["dryRun"].optional?.bool() ?? false
        let selectsAll = object["every"].optional?.bool() ?? false
        object.reportUnknownFields()
        // Every call is limited to its app. A call without another condition is usually a mistake, so it must say
        // `every`.
        var conditions = filter
        conditions.app = nil
        if conditions.isAll, !selectsAll {
            root.report("must select dead letters with letters, stage, reason, since, until or every")
        }
    }

    // MARK: Use

    /// Whether the call's answer has dead letters in this state. A doubtful one is not settled, because only the beginning
    /// of its redrive is known.
    func includes(_ state: DeadLetterJournal.DeadLetterState) -> Bool {
        includesSettled || state == .open || state == .doubtful
    }

    // MARK: Reading of query parameters

    private mutating func readLimit(_ value: String) {
        if let number = Int(value), (1...Self.limitMax).contains(number) {
            limit = number
        } else {
            add(code: "invalid", at: "limit", message: "must be a number from 1 to \(Self.limitMax)")
        }
    }

    private mutating func readCursor(_ value: String) {
        after = DeadLetterPosition(cursor: value)
        if after == nil {
            add(code: "invalid", at: "cursor", message: "must be the field next of an earlier answer")
        }
    }

    private mutating func readTime(_ value: String, of name: String) -> Int64? {
        if let time = Int64(value), time >= 0 { return time }
        add(code: "invalid", at: name, message: "must be milliseconds since 1970")
        return nil
    }

    private mutating func readName(_ value: String, of name: String) -> String {
        if let problem = NameRules.problem(value) { add(code: "invalid", at: name, message: problem) }
        return value
    }

    private mutating func add(code: String, at field: String, message: String) {
        problems.append(RequestProblem(code: code, at: field, message: message))
    }

    private func throwProblems() throws(RefusedRequest) {
        if !problems.isEmpty { throw RefusedRequest(problems) }
    }
}

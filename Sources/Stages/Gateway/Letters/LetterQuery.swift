internal import HTTPServer
internal import JSON
internal import LiveActivity
internal import Replay

/// The filter and options of a call about dead letters. It always covers only the app of the key.
struct LetterQuery: Sendable {
    static let limitDefault = 100
    static let limitMax = 1_000

    private(set) var filter = LetterFilter()
    private(set) var limit = limitDefault
    /// Whether redriven and discarded dead letters are included.
    private(set) var isSettledShown = false
    private(set) var isDryRun = false
    private var isEveryMeant = false
    private var problems: [RequestProblem] = []

    private static let words = ["stage", "reason", "since", "until"]

    // MARK: Read calls

    /// - Parameter query: The query parameters.
    init(_ query: [(name: String, value: String)], of app: String) throws(RefusedRequest) {
        filter.app = app
        var seen: Set<String> = []
        for (name, value) in query {
            if !seen.insert(name).inserted { add("duplicate_key", at: name, "occurs twice") }
            switch name {
            case "limit":
                guard let number = Int(value), (1...Self.limitMax).contains(number) else {
                    add("invalid", at: name, "must be a number from 1 to \(Self.limitMax)")
                    continue
                }
                limit = number
            case "settled":
                if value != "true" { add("invalid", at: name, "must be true, or be omitted") }
                isSettledShown = true
            case "since", "until":
                guard let time = Int64(value), time >= 0 else {
                    add("invalid", at: name, "must be milliseconds since 1970")
                    continue
                }
                set(name, time)
            case "stage", "reason":
                if let problem = Name.problem(value) { add("invalid", at: name, problem) }
                set(name, value)
            default:
                let known = Self.words + ["limit", "settled"]
                add(
                    "unknown_field", at: name,
                    "is not a parameter of this call; use \(known.joined(separator: ", "))")
            }
        }
        try refuse()
    }

    /// Selects one dead letter by the two parts of its name.
    init(partition: String?, offset: String?, of app: String) throws(RefusedRequest) {
        filter.app = app
        guard let name = LetterName("\(partition ?? "")/\(offset ?? "")") else { throw Self.unknown }
        filter.names = [name]
        isSettledShown = true
    }

    static let unknown = RefusedRequest(
        [
            RequestProblem(
                "letter_unknown", at: "",
                "this app has no such dead letter; GET /v1/dead-letters/each lists them"
            )
        ], status: 404)

    // MARK: Write calls

    /// - Parameter root: The body.
    init(_ root: JSONValue, of app: String) {
        filter.app = app
        let object = root.object()
        if let letters = object["letters"].optional {
            for text in letters.names(countMax: LetterFilter.namesMax) {
                guard let name = LetterName(text) else {
                    letters.report("must name dead letters by partition and offset, such as 3/1042")
                    break
                }
                filter.names.insert(name)
            }
        }
        filter.stage = object["stage"].optional?.name()
        filter.code = object["reason"].optional?.name()
        filter.since = object["since"].optional?.time()
        filter.until = object["until"].optional?.time()
        isDryRun = object["dryRun"].optional?.bool() ?? false
        isEveryMeant = object["every"].optional?.bool() ?? false
        object.refuseUnknownFields()
        // A call without a filter is usually a mistake, so it must say `every`.
        var rest = filter
        rest.app = nil
        if rest.isAll, !isEveryMeant {
            root.report("must select dead letters with letters, stage, reason, since, until or every")
        }
    }

    // MARK: Helpers

    private mutating func set(_ name: String, _ value: String) {
        if name == "stage" { filter.stage = value } else { filter.code = value }
    }

    private mutating func set(_ name: String, _ time: Int64) {
        if name == "since" { filter.since = time } else { filter.until = time }
    }

    private mutating func add(_ code: String, at field: String, _ message: String) {
        problems.append(RequestProblem(code, at: field, message))
    }

    private func refuse() throws(RefusedRequest) {
        if !problems.isEmpty { throw RefusedRequest(problems) }
    }

    func shows(_ state: LetterJournal.State) -> Bool {
        isSettledShown || state == .open || state == .doubtful
    }
}

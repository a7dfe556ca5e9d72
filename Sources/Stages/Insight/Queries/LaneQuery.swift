internal import Identifiers
internal import JSON
internal import RecordFormat

/// A query for the rows of all lanes. `QueryHandler` makes it for a call, and processes send it to each other.
/// Fields that do not belong to the kind are ignored.
struct LaneQuery: JSONRecord, Hashable {
    static let schemaVersion = 1
    /// The limit of names in one query. A page of `limitMax` events can name as many users.
    static let namesMax = 5001
    /// The limit of rows in one answer.
    static let limitMax = 5000
    /// The limit of sends in one query for their records, of which a send has one for each lane.
    static let sendsMax = 50

    enum QueryKind: String, CaseIterable, Sendable {
        /// The records of the named sends.
        case sends
        /// Sends by time, of one group or of all.
        case sendList
        /// The pushes of the send in `names` that failed, with the reason in `code` if there is one.
        case failures
        /// The periods of the app's series with the resolution in `code`.
        case series
        /// The samples of the freshness of phones. Each process answers from its own samples, not from its lanes.
        case freshness
        /// Groups by their newest send.
        case groupList
        /// The rows of the named groups, and the rows of `user` in them.
        case groups
        /// The number of running activities in the named groups.
        case running
        /// The installations, erasures and timers of the named recipients.
        case people
        /// Users by name.
        case userList
        /// Installations by id, of the app or of `user`.
        case installationList
        /// The times of the erasures of the named users.
        case erasures
        /// The newest pushes to the named recipients.
        case pushes
        /// Events by their time.
        case events
        /// The number of events by hour.
        case counts
        /// The taps of a group between neighboring `times`.
        case taps
        /// The audit entries of an app about people and settings, by their time.
        case audit
        /// The audit entries of an app about sends, by their time.
        case auditSends

        /// Whether the answer is a page with at most `limit` rows.
        var isList: Bool {
            switch self {
            case .sendList, .failures, .groupList, .userList, .installationList, .events, .audit, .auditSends:
                true
            case .sends, .groups, .running, .people, .erasures, .pushes, .counts, .taps, .series, .freshness:
                false
            }
        }
    }

    var kind: QueryKind
    var app: String
    /// The API key that asks, as the app and the key's id. All keys share the reading threads (`LaneReaders`).
    var caller: String
    /// The ids of sends, groups, recipients or users. For `counts`, the properties to distinguish.
    var names: [String] = []
    var group: String?
    var user: String?
    var installation: String?
    /// A word by which the rows are chosen: the code of events, the state of groups, the action of audit entries, the
    /// reason of failures, or the resolution of a series.
    var code: String?
    /// The author and the subject of audit entries.
    var author: String?
    var subject: String?
    var type: String?
    /// Milliseconds since 1970. The range excludes `to`, whose default is later than any time.
    var from: Int64 = 0
    var to: Int64 = Int64(1) << 52
    /// For `taps`, the times between which taps are counted, the oldest first.
    var times: [Int64] = []
    var limit = 50
    var isOldestFirst = false
    /// The position behind which the list continues.
    var after: ListPosition?

    /// Whether counts are about users, which are only in the events themselves.
    var countsUsers: Bool { user != nil || installation != nil || names.contains("user") }

    init(_ kind: QueryKind, app: String) {
        self.kind = kind
        self.app = app
        caller = app
    }

    func write(to writer: inout JSONWriter) {
        writer.field("kind", kind.rawValue)
        writer.field("app", app)
        writer.field("caller", caller)
        writer.field("names", names)
        writer.field("group", group)
        writer.field("user", user)
        writer.field("installation", installation)
        writer.field("code", code)
        writer.field("author", author)
        writer.field("subject", subject)
        writer.field("type", type)
        writer.field("from", from)
        writer.field("to", to)
        writer.name("times")
        writer.beginArray()
        for time in times { writer.value(time) }
        writer.endArray()
        writer.field("limit", limit)
        writer.field("isOldestFirst", isOldestFirst)
        writer.field("after", after?.cursor)
    }

    init(from record: JSONObject) {
        self.init(record["kind"].choice(of: QueryKind.self) ?? .sends, app: record["app"].name())
        caller = record["caller"].optional?.string() ?? app
        names = record["names"].strings(countMax: Self.namesMax)
        group = record["group"].optional?.name()
        user = record["user"].optional?.name()
        installation = record["installation"].optional?.name()
        code = record["code"].optional?.name()
        author = record["author"].optional?.name()
        subject = record["subject"].optional?.name()
        type = record["type"].optional?.name()
        from = record["from"].timeMilliseconds()
        to = record["to"].timeMilliseconds()
        var elements = record["times"].array(countMax: Self.namesMax)
        while let element = elements.next() { times.append(element.timeMilliseconds()) }
        limit = record["limit"].int(in: 1...Self.limitMax + 1)
        isOldestFirst = record["isOldestFirst"].bool()
        after = (record["after"].optional?.string()).flatMap(ListPosition.init(cursor:))
    }
}

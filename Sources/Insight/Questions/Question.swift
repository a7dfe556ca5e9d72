internal import JSON
internal import LiveActivity

/// What one process asks another about its lanes. What does not belong to a kind is not looked at.
struct Question: LiveActivity.Record, Hashable {
    static let schemaVersion = 1
    /// Names of one question.
    static let namesMax = 5001
    /// Rows of one answer.
    static let limitMax = 5000

    enum Kind: String, CaseIterable, Sendable {
        /// What is known of these sends.
        case sends
        /// Sends by time, of a group or of all.
        case sendList
        /// Groups by their newest send.
        case groupList
        /// These groups' rows, and the rows of `user` in them.
        case groups
        /// How many activities of these groups run.
        case running
        /// The installations of these recipients, what was said of them, and their timers.
        case people
        /// Until when what was known of these users was to be forgotten.
        case erasures
        /// The newest pushes to these recipients.
        case pushes
        case events
        /// Events by hour.
        case counts
        /// Taps of a group between each two of `times`.
        case taps
        case audit

        /// Whether the answer is a page: of more rows than `limit`, none is asked for.
        var isList: Bool { [.sendList, .groupList, .events, .audit].contains(self) }
    }

    var kind: Kind
    var app: String
    var names: [String] = []
    var group: String?
    var user: String?
    var installation: String?
    var code: String?
    var type: String?
    /// Milliseconds since 1970; the end is not part of it.
    var from: Int64 = 0
    var to: Int64 = Int64(1) << 52
    var times: [Int64] = []
    var limit = 50
    var isOldestFirst = false
    /// What the list goes on behind.
    var after: ListPlace?

    init(_ kind: Kind, app: String) {
        self.kind = kind
        self.app = app
    }

    func write(to writer: inout JSONWriter) {
        writer.field("kind", kind.rawValue)
        writer.field("app", app)
        writer.field("names", names)
        writer.field("group", group)
        writer.field("user", user)
        writer.field("installation", installation)
        writer.field("code", code)
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
        self.init(record["kind"].choice(of: Kind.self) ?? .sends, app: record["app"].name())
        names = record["names"].strings(countMax: Self.namesMax)
        group = record["group"].optional?.name()
        user = record["user"].optional?.name()
        installation = record["installation"].optional?.name()
        code = record["code"].optional?.name()
        type = record["type"].optional?.name()
        from = record["from"].time()
        to = record["to"].time()
        var elements = record["times"].array(countMax: Self.namesMax)
        while let element = elements.next() { times.append(element.time()) }
        limit = record["limit"].int(in: 1...Self.limitMax + 1)
        isOldestFirst = record["isOldestFirst"].bool()
        after = (record["after"].optional?.string()).flatMap(ListPlace.init(cursor:))
    }
}

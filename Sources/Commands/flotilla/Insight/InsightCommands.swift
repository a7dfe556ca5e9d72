internal import JSON
internal import Lifecycle
internal import Members

extension Command {
    /// `flotilla groups`: lists groups, or shows the state of one.
    static let groups = insightCommand(
        InsightList(
            name: "groups", summary: "Lists groups by their newest send, or shows the state of one.",
            list: .groups, show: .group,
            filters: [.value("--state", "live, ended or all; the default is live")],
            table: AnswerTable(
                columns: [
                    .init("group", "groupId"), .init("user", "userId"), .init("state", "state"),
                    .init("version", "version"), .init("running", "running"),
                    .init("last send", "lastAt", isTime: true),
                ], lists: ["items", "groups"])),
        example: "flotilla groups show match-42 --app shop")

    /// `flotilla users`: lists the users of an app.
    static let users = insightCommand(
        InsightList(
            name: "users", summary: "Lists the users of an app by their ids, or shows one.", list: .users,
            show: .user, filters: [],
            table: AnswerTable(
                columns: [
                    .init("user", "userId"), .init("phones", "installations"),
                    .init("profile", "hasProfile"), .init("last report", "heardAt", isTime: true),
                ], lists: ["items"])),
        example: "flotilla users list --app shop")

    /// `flotilla installations`: lists the phones of an app or of a user.
    static let installations = insightCommand(
        InsightList(
            name: "installations", summary: "Lists the phones of an app by their ids, or shows one.",
            list: .installations, show: .installation,
            filters: [.value("--user", "only the phones of this user")],
            table: AnswerTable(
                columns: [
                    .init("installation", "installationId"), .init("user", "userId"),
                    .init("environment", "environment"), .init("iOS", "os"), .init("build", "appBuild"),
                    .init("start tokens", "startTokens"), .init("running", "runningActivities"),
                    .init("last report", "heardAt", isTime: true),
                ], lists: ["items"])),
        example: "flotilla installations list --app shop --user jane@example.com")

    /// `flotilla sends`: lists sends, or shows the outcomes of one.
    static let sends = insightCommand(
        InsightList(
            name: "sends", summary: "Lists sends, the newest first, or shows the outcomes of one.",
            list: .sends, show: .report,
            filters: [.value("--group", "only the sends of this group")] + InsightList.rangeFilters,
            table: AnswerTable(
                columns: [
                    .init("accepted", "acceptedAt", isTime: true), .init("send", "sendId"),
                    .init("group", "groupId"), .init("event", "event"), .init("verdict", "verdict"),
                    .init("targeted", "targeted"), .init("accepted by APNs", "report", "accepted"),
                    .init("rejected", "report", "rejected"),
                ], lists: ["items", "sends"])),
        example: "flotilla sends list --app shop --group match-42")

    /// `flotilla events`: lists what phones have reported.
    static let events = insightCommand(
        InsightList(
            name: "events", summary: "Lists the events of phones, the newest first.", list: .events,
            filters: [
                .value("--user", "only the events of this user"),
                .value("--installation", "only those of this phone"),
                .value("--group", "only those of this group"),
                .value("--code", "only those of this code, such as tap"),
                .value("--type", "only those of this activity type"),
            ] + InsightList.rangeFilters,
            table: AnswerTable(
                columns: [
                    .init("at", "at", isTime: true), .init("code", "code"),
                    .init("installation", "installationId"), .init("user", "userId"),
                    .init("group", "groupId"), .init("type", "attributesType"), .init("cause", "cause"),
                ], lists: ["items", "events"])),
        example: "flotilla events list --app shop --user jane@example.com")

    /// `flotilla audit`: lists who changed what.
    static let audit = insightCommand(
        InsightList(
            name: "audit", summary: "Lists who changed what, the newest first.", list: .audit,
            filters: [
                .value("--of", "settings, which is the default, or sends"),
                .value("--by", "only the changes of this author"),
                .value("--action", "only this action, such as key.revoke"),
                .value("--subject", "only the changes of this object"),
            ] + InsightList.rangeFilters,
            table: AnswerTable(
                columns: [
                    .init("at", "at", isTime: true), .init("by", "by"), .init("action", "action"),
                    .init("subject", "subject"), .init("address", "address"),
                ], lists: ["items", "entries"])),
        example: "flotilla audit list --app shop --action key.revoke")

    private static func insightCommand(_ list: InsightList, example: String) -> Command {
        Command(
            name: list.name, summary: list.summary, usage: list.usage, example: example,
            settings: ["topics.prefix", "topics.lanes", "kafka."], options: list.options
        ) { try await list.run($0) }
    }
}

/// A command that shows what the insight stage knows: a list, and for some kinds one object.
struct InsightList: Sendable {
    let name: String
    let summary: String
    let list: InsightQuery.Kind
    /// The query for one object, if there is one.
    var show: InsightQuery.Kind?
    /// The options that are parameters of the list, and their help.
    let filters: [CommandOption]
    let table: AnswerTable

    static let rangeFilters: [CommandOption] = [
        .value("--from", "the first time, in milliseconds since 1970"),
        .value("--to", "the time before which entries are listed, in milliseconds since 1970"),
    ]
    private static let pageFilters: [CommandOption] = [
        .value("--limit", "the number of entries; the default is 50"),
        .value("--cursor", "the position that an earlier call printed"),
    ]

    var usage: String { show == nil ? "[list] --app APP [options]" : "[list | show ID] --app APP [options]" }

    var options: [CommandOption] {
        [.value("--app", "the app's id")]
            + filters + Self.pageFilters
            + [.flag("--json", "prints one JSON object per line instead of a table")]
    }

    func run(_ invocation: Invocation) async throws {
        let app = try invocation.requireApp()
        let access = InsightAccess(settings: invocation.settings)
        switch (invocation.positionals.first ?? "list", invocation.positionals.count, show) {
        case ("list", 0...1, _):
            let answer = try await access.answer(
                InsightQuery(list, app: app, parameters: parameters(of: invocation)))
            print(try table.text(of: answer, isJSON: invocation.isJSON))
        case ("show", 2, let show?):
            let id = invocation.positionals[1]
            if show == .report { try await Self.checkThatSendExists(id, of: app, access: access) }
            let answer = try await access.answer(InsightQuery(show, app: app, id: id))
            print(String(decoding: answer, as: UTF8.self))
        default: throw CommandError(status: .usage, "use \(usage)")
        }
    }

    /// Throws if no record of the send exists. The report of such a send has only zeros.
    private static func checkThatSendExists(_ id: String, of app: String, access: InsightAccess) async throws
    {
        let location = try await access.answer(InsightQuery(.locate, app: app, id: id))
        let exists = try JSONReader().read(location) { $0.object()["acceptedAt"].optional != nil }
        if !exists {
            throw CommandError(
                status: .noInput, "insight has no send \(id) of app \(app) in the last seven days")
        }
    }

    /// The parameters have the names of the options without dashes.
    private func parameters(of invocation: Invocation) -> [InsightQuery.Parameter] {
        (filters + Self.pageFilters).compactMap { filter in
            invocation.options[filter.name].map {
                InsightQuery.Parameter(name: String(filter.name.dropFirst(2)), value: $0)
            }
        }
    }
}

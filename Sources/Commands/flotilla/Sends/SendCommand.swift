internal import Catalog
internal import FoundationEssentials
internal import Gateway
internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import Topics

extension Command {
    /// `flotilla send`: makes a send by hand, without the gateway but with its rules.
    static let send = Command(
        name: "send", summary: "Starts, updates or ends activities by hand, as a backend would.",
        usage: "[JSON] --app APP [options]",
        example:
            #"flotilla send --app shop --watch '{"event":"update","groupId":"match-42","contentState":{"score":1}}'"#,
        settings: ["topics.", "kafka."],
        options: [
            .value("--app", "the app's id"),
            .value("--file", "the body in JSON, from a file"),
            .value("--idempotency-key", "a second call with the same key is the same send"),
            .value("--in", "sends after this many seconds instead of now"),
            .value("--at", "sends at this time (ISO 8601 in UTC) instead of now"),
            .flag("--watch", "shows the progress until every phone has an outcome"),
            .flag("--json", "prints one JSON object per line instead of a sentence"),
        ]
    ) { invocation in
        let app = try invocation.requireApp()
        let body = try requestBody(from: invocation).adding(when: whenValue(from: invocation))
        let accepted = try mappingRefusals {
            try operatorSends(for: invocation).send(
                body, of: app, idempotencyKey: invocation.options["--idempotency-key"], now: .now())
        }
        if invocation.isJSON {
            print(String(decoding: accepted.answer, as: UTF8.self))
        } else {
            print("accepted as \(accepted.id)")
        }
        if invocation.hasOption("--watch") {
            try await SendWatch(for: invocation, id: accepted.id, app: app).run()
        }
    }

    /// `flotilla cancel`: cancels a send.
    static let cancel = Command(
        name: "cancel", summary: "Cancels the pushes of a send that have not been sent yet.",
        usage: "ID --app APP [--watch]",
        example: "flotilla cancel r-1795204800000-3-0123456789abcdef01234567 --app shop",
        settings: ["topics.", "kafka."],
        options: [
            .value("--app", "the app's id"),
            .flag("--watch", "shows what its lanes did with it until all are done"),
            .flag("--json", "prints one JSON object per line instead of a sentence"),
        ]
    ) { invocation in
        let app = try invocation.requireApp()
        guard invocation.positionals.count == 1,
            let id = SendID(
                invocation.positionals[0], lanes: TopicLayout(settings: invocation.settings).lanes)
        else { throw CommandError(status: .usage, "name one send by its id") }
        let watch = try SendWatch(for: invocation, id: id.text, app: app)
        guard let foundSend = try await watch.findSend() else {
            throw CommandError(status: .noInput, "app \(app) has no such send in the last seven days")
        }
        try mappingRefusals {
            try operatorSends(for: invocation).cancel(id, of: app, found: foundSend, now: .now())
        }
        print(
            invocation.isJSON ? JSONLine.text { $0.field("sendId", id.text) } : "cancelling \(id.text)")
        if invocation.hasOption("--watch") { try await watch.run() }
    }

    private static func requestBody(from invocation: Invocation) throws -> [UInt8] {
        switch (invocation.positionals.first, invocation.positionals.count, invocation.options["--file"]) {
        case (let text?, 1, nil): return Array(text.utf8)
        case (nil, 0, let file?):
            guard let data = FileManager.default.contents(atPath: file) else {
                throw CommandError(status: .noInput, "cannot read \(file)")
            }
            return Array(data)
        default:
            throw CommandError(status: .usage, "give the send as one JSON text, or in a file with --file")
        }
    }

    /// Returns the value of the JSON member `when` of a send for later, such as `{"offset":60}`, or nil for a send now.
    private static func whenValue(from invocation: Invocation) throws -> String? {
        switch (invocation.options["--in"], invocation.options["--at"]) {
        case (nil, nil): return nil
        case (let text?, nil):
            guard let seconds = Double(text), seconds >= 0, seconds.isFinite else {
                throw CommandError(status: .usage, "--in must be a number of seconds")
            }
            return #"{"offset":\#(seconds)}"#
        case (nil, let text?):
            // Printable ASCII without quote and backslash, so that the text can stand in JSON as it is.
            let isSafeInJSON = text.utf8.allSatisfy {
                (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
            guard isSafeInJSON else {
                throw CommandError(status: .usage, "--at must be a date such as 2026-11-20T20:00:00Z")
            }
            return "\"\(text)\""
        case (_?, _?): throw CommandError(status: .usage, "give --in or --at, not both")
        }
    }

    /// Returns the functions for sends of an operator, who needs no API key.
    static func operatorSends(for invocation: Invocation) throws -> OperatorSends {
        let catalog = try CatalogAccess(settings: invocation.settings)
        return try OperatorSends(
            settings: invocation.settings[KafkaSettings.self],
            layout: TopicLayout(settings: invocation.settings),
            catalog: catalog.snapshot, author: CatalogAccess.author, metrics: Metrics())
    }

    /// Calls `body` and turns the problems of a request that the gateway would refuse into an error of the command.
    static func mappingRefusals<T>(in body: () throws -> T) throws -> T {
        do { return try body() } catch let refused as RefusedRequest {
            throw CommandError(
                status: .dataError, refused.problems.map(\.description).joined(separator: "\n"))
        }
    }
}

extension [UInt8] {
    /// Returns the body with the member `when` added. A body that is not an object stays unchanged and is
    /// refused later.
    fileprivate func adding(when: String?) -> [UInt8] {
        guard let when, let brace = firstIndex(of: UInt8(ascii: "{")) else { return self }
        let members = self[(brace + 1)...]
        let isEmptyObject = members.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "}")
        let whenMember = #""when":\#(when)"# + (isEmptyObject ? "" : ",")
        return Array(self[...brace]) + Array(whenMember.utf8) + members
    }
}

internal import APNs
internal import HTTPServer
internal import JSON

/// `/v1/journal` and `/v1/summary`: the received requests and their ends.
struct JournalRoutes {
    static let limitMax = 1_000
    private static let limitUsual = 100

    let desk: ControlDesk

    func add(to routes: inout HTTPRoutes) {
        routes.control(.get, "/v1/journal") { [desk] request in
            try request.refuseUnknownQuery(
                "after", "limit", "token", "channel", "id", "connection", "status", "payload")
            let after = try request.number("after", in: 0...Int.max, or: 0)
            let limit = try request.number("limit", in: 1...Self.limitMax, or: Self.limitUsual)
            let filter = try Self.filter(request)
            let showsPayload = try request.flag("payload")
            return Self.answer(
                try await desk.ask { $0.journal.ring.page(after: after, filter, limit: limit) },
                showsPayload: showsPayload)
        }
        routes.control(.get, "/v1/summary") { [desk] _ in
            let reports = try await desk.ask { $0.reports }
            let (summary, made, open) = try await desk.ask { desk in
                (desk.journal.summary, desk.simulator.connectionsMade, desk.simulator.connections.count)
            }
            let (leftOut, unrecorded) = try await desk.ask { desk in
                (desk.journal.file?.leftOut ?? 0, desk.journal.records?.leftOut ?? 0)
            }
            return .object { json in
                summary.writeFields(to: &json)
                json.object("connections") { json in
                    json.field("opened", made)
                    json.field("open", open)
                }
                json.field("leftOutOfJournalFile", leftOut)
                json.field("leftOutOfRecords", unrecorded)
                guard let reports else { return }
                json.object("reports") { reports.writeFields(to: &$0) }
            }
        }
    }

    private static func filter(_ request: HTTPRequest) throws -> JournalRing.Filter {
        var filter = JournalRing.Filter()
        for field in request.query where field.name == "token" {
            guard filter.tokens.insert(field.value) else {
                throw ControlRefusal(
                    400, "bad_query",
                    message: "token must be hexadecimal, or tok: and 8 digits as shown in the journal")
            }
        }
        filter.channel = request.query("channel")
        if let text = request.query("id") {
            filter.id = PushID(canonical: text)
            if filter.id == nil {
                throw ControlRefusal(
                    400, "bad_query", message: "id must be a lower-case UUID like apns-id")
            }
        }
        filter.connection = try request.query("connection").map { _ in
            try request.number("connection", in: 1...Int.max, or: 1)
        }
        filter.status = try request.query("status").map { _ in
            try request.number("status", in: 200...599, or: 200)
        }
        return filter
    }

    /// Writes a page. This runs off the loop, because a page has about a hundred kilobytes, and megabytes
    /// with payloads.
    private static func answer(_ page: JournalRing.Page, showsPayload: Bool) -> HTTPResponse {
        .object { json in
            json.name("entries")
            json.beginArray()
            for numbered in page.entries { numbered.write(to: &json, showsPayload: showsPayload) }
            json.endArray()
            json.field("after", page.after)
            json.field("newest", page.newest)
            json.field("missed", page.missed)
        }
    }
}

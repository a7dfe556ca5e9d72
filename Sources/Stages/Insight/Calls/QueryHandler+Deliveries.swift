internal import HTTPServer
internal import JSON
internal import Members

extension QueryHandler {
    /// Answers with the newest calls of a webhook endpoint, as all processes have published them.
    func deliveries(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        let outcome = try parameters.choice(
            "outcome", of: ["all", "delivered", "failed", "given_up", "gone"])
        let limit = try parameters.limit()
        let cursor = try parameters.cursor()
        try parameters.checkAllRead()
        let calls = await fanOut.knownProcesses().flatMap(\.deliveries).filter {
            $0.app == call.app && $0.endpoint == call.id && (outcome == "all" || $0.outcome == outcome)
        }
        let order = ListOrder()
        let entries = calls.map { delivery in
            ListEntry(
                position: ListPosition(
                    at: delivery.at, tieBreaker: Array("\(delivery.event) \(delivery.attempt)".utf8)),
                value: delivery)
        }.filter { entry in cursor.map { order.isBefore($0, entry.position) } ?? true }
        let (page, next) = order.firstPage(of: entries, limit: limit)
        var writer = JSONWriter(capacity: 4096)
        writer.beginObject()
        writer.objects("items", of: page) { $0.value.writeCall(to: &$1) }
        writer.field("next", next?.cursor)
        writer.endObject()
        return .json(writer.bytes)
    }
}

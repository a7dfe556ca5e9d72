internal import HTTPServer
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Jobs
internal import Members
internal import Payloads
internal import Schedules
internal import Sends

extension QueryHandler {
    /// The pushes and events in the answer about a person.
    private static let newestMax = 50
    /// The pushes that the reason is made from.
    private static let pushesMax = 200

    func user(
        for call: InsightQuery, parameters: CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        try parameters.checkAllRead()
        guard let id = call.id, NameRules.problem(id) == nil else { throw .unknown }
        let recipient = Recipient.user(id)
        let found = await findPeople([recipient], app: call.app)
        let phones = found.installations.filter { $0.subject != recipient && $0.recipient == recipient }
            .sorted { ($0.lastReportAt ?? 0) > ($1.lastReportAt ?? 0) }
        // The record of an erased user contains neither tags nor attributes.
        let profile = found.installations.first {
            $0.subject == recipient && ($0.tags != nil || $0.attributes != nil)
        }
        async let pushed = pushes(to: [recipient], on: nil, app: call.app)
        async let happened = events(
            app: call.app, user: id, installation: nil, since: found.erasures[recipient.text])
        let (pushes, events) = await (pushed, happened)
        let erasedAt = found.erasures[recipient.text] ?? 0
        let seen = pushes.pushes.filter { $0.at > erasedAt }
        if phones.isEmpty, profile == nil, seen.isEmpty, events.events.isEmpty, found.timers.isEmpty {
            throw emptyResultProblem(for: [found, pushes, events])
        }
        let scopes = await scopes(of: phones, app: call.app, user: id)
        let facts = phones.map { phone in
            PhoneDiagnosis(
                installation: phone, scopes: scopes.byKey,
                pushes: seen.filter { .installation($0.addressee.installation) == phone.subject }, now: now)
        }
        return object(from: [found, pushes, events, scopes.found]) { writer in
            writer.field("userId", id)
            writer.field("tags", profile?.tags?.value)
            writer.field("attributes", profile?.attributes?.value)
            writer.objects("installations", of: facts) { InstallationReport(diagnosis: $0).write(to: &$1) }
            write(pushes: seen, events: events, to: &writer)
            writer.objects("schedules", of: found.timers.sorted { $0.dueAt < $1.dueAt }) { timer, writer in
                writer.field("id", timer.id)
                writer.field("name", timer.name)
                writer.field("activity", timer.activity)
                writer.field("groupId", timer.send.group)
                writer.field("dueAt", timer.dueAt)
                writer.field("sendId", timer.send.id)
                writer.field("event", timer.send.content.event.rawValue)
            }
            InstallationReport.writeReason(Self.mostUrgentReason(of: facts.map(\.reason)), to: &writer)
        }
    }

    func installation(
        for call: InsightQuery, parameters: CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        try parameters.checkAllRead()
        guard let id = call.id, NameRules.problem(id) == nil else { throw .unknown }
        let subject = Recipient.installation(id)
        let found = await findPeople([subject], app: call.app)
        guard let phone = found.installations.first(where: { $0.subject == subject }) else {
            throw emptyResultProblem(for: [found])
        }
        let recipients = Set([phone.recipient, subject] + phone.formerRecipients.map(\.recipient))
        async let pushed = pushes(to: Array(recipients), on: id, app: call.app)
        async let happened = events(
            app: call.app, user: nil, installation: id, since: phone.erasedUpTo?.received)
        let (pushes, events) = await (pushed, happened)
        let seen = pushes.pushes.filter { $0.at > phone.erasedUpTo?.received ?? 0 }
        var user: String?
        if case .user(let name) = phone.recipient { user = name }
        let scopes = await scopes(of: [phone], app: call.app, user: user)
        let facts = PhoneDiagnosis(installation: phone, scopes: scopes.byKey, pushes: seen, now: now)
        return object(from: [found, pushes, events, scopes.found]) { writer in
            InstallationReport(diagnosis: facts).write(to: &writer)
            write(pushes: seen, events: events, to: &writer)
        }
    }

    /// Returns the reason of the phone that needs attention, otherwise of the first phone.
    private static func mostUrgentReason(of all: [DisplayReason]) -> DisplayReason {
        all.first { !$0.code.needsNoAction } ?? all.first
            ?? DisplayReason(
                .nothingReported, "no phone of this user is known; the app must report the user in userId")
    }

    private func write(pushes: [TimelinePush], events: QueryResult, to writer: inout JSONWriter) {
        let newest = pushes.sorted { $0.at > $1.at }.prefix(Self.newestMax)
        writer.objects("pushes", of: Array(newest)) { $0.writeReport(to: &$1) }
        let page = Self.page(events.events, limit: Self.newestMax).page
        writer.objects("events", of: page) { $0.value.writeReport(to: &$1) }
    }

    // MARK: Steps

    private func findPeople(_ recipients: [Recipient], app: String) async -> QueryResult {
        var question = LaneQuery(.people, app: app)
        question.names = recipients.map(\.text)
        return await fanOut.run(question)
    }

    private func pushes(to recipients: [Recipient], on installation: String?, app: String) async
        -> QueryResult
    {
        var question = LaneQuery(.pushes, app: app)
        question.names = recipients.map(\.text)
        question.installation = installation
        question.limit = Self.pushesMax
        var found = await fanOut.run(question)
        found.pushes.sort { $0.at > $1.at }
        return found
    }

    private func events(app: String, user: String?, installation: String?, since time: Int64?) async
        -> QueryResult
    {
        var question = LaneQuery(.events, app: app)
        (question.user, question.installation) = (user, installation)
        question.from = time.map { $0 + 1 } ?? 0
        question.limit = Self.newestMax
        return await fanOut.run(question)
    }

    private func scopes(
        of phones: [Installation], app: String, user: String?
    ) async -> (byKey: [ScopeKey: GroupRow], found: QueryResult) {
        var question = LaneQuery(.groups, app: app)
        question.names = Array(Set(phones.flatMap(\.activities).compactMap { $0.group?.value })).sorted()
        question.user = user
        let found = await fanOut.run(question)
        let byKey = Dictionary(found.scopes.map { ($0.value.key, $0.value.row) }) { a, b in
            a.lastSendAt > b.lastSendAt ? a : b
        }
        return (byKey, found)
    }
}

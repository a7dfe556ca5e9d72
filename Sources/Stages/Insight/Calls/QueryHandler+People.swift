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
    /// The limit of pushes in an answer, and of events.
    private static let newestMax = 50
    /// The limit of pushes that are read for the diagnosis.
    private static let pushesMax = 200

    /// Answers with the phones, pushes, events and schedules of a user, and the most urgent reason.
    func user(
        for call: InsightQuery, parameters: CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        try parameters.checkAllRead()
        guard let id = call.id, NameRules.problem(id) == nil else { throw .unknown }
        let recipient = Recipient.user(id)
        let foundPeople = try await findPeople([recipient], app: call.app)
        // The found records are the user's phones, and the user's own record, which has the profile and the user as its
        // subject.
        let phones = foundPeople.installations.filter { $0.subject != recipient && $0.recipient == recipient }
            .sorted { ($0.lastReportAt ?? 0) > ($1.lastReportAt ?? 0) }
        // The record of an erased user contains neither tags nor attributes.
        let profile = foundPeople.installations.first {
            $0.subject == recipient && ($0.tags != nil || $0.attributes != nil)
        }
        async let pendingPushes = pushes(to: [recipient], on: nil, app: call.app)
        async let pendingEvents = events(
            app: call.app, user: id, installation: nil, since: foundPeople.erasures[recipient.text])
        let (foundPushes, foundEvents) = await (pendingPushes, pendingEvents)
        // The search for pushes may end early, and then the answer has `pushesIncomplete`. It has no such field for
        // events, so a limit is an error there.
        try Self.checkLimit(of: foundEvents)
        let erasedAt = foundPeople.erasures[recipient.text] ?? 0
        let visiblePushes = foundPushes.pushes.filter { $0.at > erasedAt }
        let isUnknown =
            phones.isEmpty && profile == nil && visiblePushes.isEmpty && foundEvents.events.isEmpty
            && foundPeople.timers.isEmpty
        if isUnknown {
            // The person is unknown only if all receipts were read. If a limit ended the search, that is the error.
            try Self.checkLimit(of: foundPushes)
            throw emptyResultProblem(for: [foundPeople, foundPushes, foundEvents])
        }
        let scopes = try await scopes(of: phones, app: call.app, user: id)
        let diagnoses = phones.map { phone in
            PhoneDiagnosis(
                installation: phone, scopes: scopes.byKey,
                pushes: visiblePushes.filter { .installation($0.addressee.installation) == phone.subject },
                now: now)
        }
        return objectResponse(from: [foundPeople, foundPushes, foundEvents, scopes.found]) { writer in
            writer.field("userId", id)
            writer.field("tags", profile?.tags?.value)
            writer.field("attributes", profile?.attributes?.value)
            writer.objects("installations", of: diagnoses) {
                InstallationReport(diagnosis: $0).write(to: &$1)
            }
            write(pushes: visiblePushes, events: foundEvents, to: &writer)
            writer.field("pushesIncomplete", foundPushes.limit == nil ? nil : true)
            Self.write(schedules: foundPeople.timers, to: &writer)
            InstallationReport.writeReason(Self.mostUrgentReason(of: diagnoses.map(\.reason)), to: &writer)
        }
    }

    /// Answers with the state of one phone, its pushes and its events.
    func installation(
        for call: InsightQuery, parameters: CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        try parameters.checkAllRead()
        guard let id = call.id, NameRules.problem(id) == nil else { throw .unknown }
        let subject = Recipient.installation(id)
        let foundPeople = try await findPeople([subject], app: call.app)
        guard let phone = foundPeople.installations.first(where: { $0.subject == subject }) else {
            throw emptyResultProblem(for: [foundPeople])
        }
        let recipients = Set([phone.recipient, subject] + phone.formerRecipients.map(\.recipient))
        async let pendingPushes = pushes(to: Array(recipients), on: id, app: call.app)
        async let pendingEvents = events(
            app: call.app, user: nil, installation: id, since: phone.erasedUpTo?.received)
        let (foundPushes, foundEvents) = await (pendingPushes, pendingEvents)
        try Self.checkLimit(of: foundEvents)
        let visiblePushes = foundPushes.pushes.filter { $0.at > phone.erasedUpTo?.received ?? 0 }
        var user: String?
        if case .user(let name) = phone.recipient { user = name }
        let scopes = try await scopes(of: [phone], app: call.app, user: user)
        let diagnosis = PhoneDiagnosis(
            installation: phone, scopes: scopes.byKey, pushes: visiblePushes, now: now)
        return objectResponse(from: [foundPeople, foundPushes, foundEvents, scopes.found]) { writer in
            InstallationReport(diagnosis: diagnosis).write(to: &writer)
            write(pushes: visiblePushes, events: foundEvents, to: &writer)
            writer.field("pushesIncomplete", foundPushes.limit == nil ? nil : true)
        }
    }

    /// Returns the reason of the first phone that needs attention, otherwise of the first phone.
    private static func mostUrgentReason(of reasons: [DisplayReason]) -> DisplayReason {
        reasons.first { !$0.code.needsNoAction } ?? reasons.first
            ?? DisplayReason(
                .nothingReported, "no phone of this user is known; the app must report the user in userId")
    }

    private static func write(schedules timers: [TimerRow], to writer: inout JSONWriter) {
        writer.objects("schedules", of: timers.sorted { $0.dueAt < $1.dueAt }) { timer, writer in
            writer.field("id", timer.id)
            writer.field("name", timer.name)
            writer.field("activity", timer.activity)
            writer.field("groupId", timer.send.group)
            writer.field("dueAt", timer.dueAt)
            writer.field("sendId", timer.send.id)
            writer.field("event", timer.send.content.event.rawValue)
        }
    }

    private func write(pushes: [TimelinePush], events: QueryResult, to writer: inout JSONWriter) {
        let newest = pushes.sorted { $0.at > $1.at }.prefix(Self.newestMax)
        writer.objects("pushes", of: Array(newest)) { $0.writeReport(to: &$1) }
        let page = ListOrder().firstPage(of: events.events, cuts: events.cuts, limit: Self.newestMax).page
        writer.objects("events", of: page) { $0.value.writeReport(to: &$1) }
    }

    // MARK: Lane queries

    func findPeople(
        _ recipients: [Recipient], app: String
    ) async throws(CallProblem) -> QueryResult {
        var query = LaneQuery(.people, app: app)
        query.names = recipients.map(\.text)
        return try await ask(query)
    }

    func pushes(to recipients: [Recipient], on installation: String?, app: String) async
        -> QueryResult
    {
        var query = LaneQuery(.pushes, app: app)
        query.names = recipients.map(\.text)
        query.installation = installation
        query.limit = Self.pushesMax
        var result = await fanOut.run(query)
        result.pushes.sort { $0.at > $1.at }
        return result
    }

    private func events(app: String, user: String?, installation: String?, since time: Int64?) async
        -> QueryResult
    {
        var query = LaneQuery(.events, app: app)
        (query.user, query.installation) = (user, installation)
        query.from = time.map { $0 + 1 } ?? 0
        query.limit = Self.newestMax
        return await fanOut.run(query)
    }

    private func scopes(
        of phones: [Installation], app: String, user: String?
    ) async throws(CallProblem) -> (byKey: [ScopeKey: GroupRow], found: QueryResult) {
        var query = LaneQuery(.groups, app: app)
        query.names = Array(Set(phones.flatMap(\.activities).compactMap { $0.group?.value })).sorted()
        query.user = user
        let result = try await ask(query)
        // A scope has one lane. If another lane has a row of it too, the row with the later send counts.
        let byKey = Dictionary(result.scopes.map { ($0.value.key, $0.value.row) }) { first, second in
            first.lastSendAt > second.lastSendAt ? first : second
        }
        return (byKey, result)
    }
}

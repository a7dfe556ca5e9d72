internal import HTTPServer
internal import JSON
internal import LiveActivity

extension Answering {
    /// The pushes and events in the answer about a person.
    private static let newestMax = 50
    /// The pushes that the reason is made from.
    private static let pushesMax = 200

    func user(
        _ call: InsightCall, _ parameters: CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        try parameters.end()
        guard let id = call.id, Name.problem(id) == nil else { throw .unknown }
        let recipient = Recipient.user(id)
        let found = await people([recipient], app: call.app)
        let phones = found.installations.filter { $0.subject != recipient && $0.recipient == recipient }
            .sorted { ($0.heardAt ?? 0) > ($1.heardAt ?? 0) }
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
            throw nothing([found, pushes, events])
        }
        let scopes = await scopes(of: phones, app: call.app, user: id)
        let facts = phones.map { phone in
            PhoneFacts(
                installation: phone, scopes: scopes.byKey,
                pushes: seen.filter { .installation($0.addressee.installation) == phone.subject }, now: now)
        }
        return object([found, pushes, events, scopes.found]) { writer in
            writer.field("userId", id)
            writer.field("tags", profile?.tags?.value)
            writer.field("attributes", profile?.attributes?.value)
            writer.objects("installations", of: facts) { InstallationReport(facts: $0).write(to: &$1) }
            write(seen, events, to: &writer)
            writer.objects("schedules", of: found.timers.sorted { $0.dueAt < $1.dueAt }) { timer, writer in
                writer.field("id", timer.id)
                writer.field("name", timer.name)
                writer.field("activity", timer.activity)
                writer.field("groupId", timer.send.group)
                writer.field("dueAt", timer.dueAt)
                writer.field("sendId", timer.send.id)
                writer.field("event", timer.send.content.event.rawValue)
            }
            InstallationReport.write(Self.why(facts.map(\.why)), to: &writer)
        }
    }

    func installation(
        _ call: InsightCall, _ parameters: CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        try parameters.end()
        guard let id = call.id, Name.problem(id) == nil else { throw .unknown }
        let subject = Recipient.installation(id)
        let found = await people([subject], app: call.app)
        guard let phone = found.installations.first(where: { $0.subject == subject }) else {
            throw nothing([found])
        }
        let recipients = Set([phone.recipient, subject] + phone.moved.map(\.recipient))
        async let pushed = pushes(to: Array(recipients), on: id, app: call.app)
        async let happened = events(
            app: call.app, user: nil, installation: id, since: phone.erasedAt?.received)
        let (pushes, events) = await (pushed, happened)
        let seen = pushes.pushes.filter { $0.at > phone.erasedAt?.received ?? 0 }
        var user: String?
        if case .user(let name) = phone.recipient { user = name }
        let scopes = await scopes(of: [phone], app: call.app, user: user)
        let facts = PhoneFacts(installation: phone, scopes: scopes.byKey, pushes: seen, now: now)
        return object([found, pushes, events, scopes.found]) { writer in
            InstallationReport(facts: facts).write(to: &writer)
            write(seen, events, to: &writer)
        }
    }

    /// Returns the reason of the phone that needs attention, otherwise of the first phone.
    private static func why(_ all: [Why]) -> Why {
        all.first { !$0.code.isWell } ?? all.first
            ?? Why(.nothingReported, "no phone of this user is known; the app must report the user in userId")
    }

    private func write(_ pushes: [PushSeen], _ events: Findings, to writer: inout JSONWriter) {
        let newest = pushes.sorted { $0.at > $1.at }.prefix(Self.newestMax)
        writer.objects("pushes", of: Array(newest)) { $0.writeReport(to: &$1) }
        let page = Self.page(events.events, Self.newestMax).page
        writer.objects("events", of: page) { $0.value.writeReport(to: &$1) }
    }

    // MARK: Steps

    private func people(_ recipients: [Recipient], app: String) async -> Findings {
        var question = Question(.people, app: app)
        question.names = recipients.map(\.text)
        return await asking.ask(question)
    }

    private func pushes(to recipients: [Recipient], on installation: String?, app: String) async -> Findings {
        var question = Question(.pushes, app: app)
        question.names = recipients.map(\.text)
        question.installation = installation
        question.limit = Self.pushesMax
        var found = await asking.ask(question)
        found.pushes.sort { $0.at > $1.at }
        return found
    }

    private func events(app: String, user: String?, installation: String?, since time: Int64?) async
        -> Findings
    {
        var question = Question(.events, app: app)
        (question.user, question.installation) = (user, installation)
        question.from = time.map { $0 + 1 } ?? 0
        question.limit = Self.newestMax
        return await asking.ask(question)
    }

    private func scopes(
        of phones: [Installation], app: String, user: String?
    ) async -> (byKey: [GroupKey: GroupRow], found: Findings) {
        var question = Question(.groups, app: app)
        question.names = Array(Set(phones.flatMap(\.activities).compactMap { $0.group?.value })).sorted()
        question.user = user
        let found = await asking.ask(question)
        let byKey = Dictionary(found.scopes.map { ($0.value.key, $0.value.row) }) { a, b in
            a.lastAt > b.lastAt ? a : b
        }
        return (byKey, found)
    }
}

internal import HTTPServer
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Jobs
internal import Members
internal import Payloads
internal import Sends

extension QueryHandler {
    /// Answers with the send, and the schedule behind it, of the newest push that an activity may show. The parameter
    /// `activity` names the activity, and `group` its group, if the phone knows the group.
    func tapOrigin(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        guard let activity = try parameters.text("activity") else { throw .unknown }
        let reportedGroup = try parameters.text("group")
        try parameters.checkAllRead()
        guard let id = call.id, NameRules.problem(id) == nil else { throw .unknown }
        let subject = Recipient.installation(id)
        let people = try await findPeople([subject], app: call.app)
        guard let phone = people.installations.first(where: { $0.subject == subject }) else {
            throw emptyResultProblem(for: [people])
        }
        let recipients = Set([phone.recipient, subject] + phone.formerRecipients.map(\.recipient))
        let found = await pushes(to: Array(recipients), on: id, app: call.app)
        let target = TappedActivity(id: activity, reportedGroup: reportedGroup, phone: phone)
        guard let newest = target.newestPush(among: found.pushes) else {
            throw emptyResultProblem(for: [people, found])
        }
        var query = LaneQuery(.sends, app: call.app)
        query.names = [newest.send]
        let sends = await fanOut.run(query)
        let schedule = sends.progress.lazy.compactMap(\.firedSchedule).first
        return objectResponse(from: [people, found, sends]) { writer in
            writer.field("sendId", newest.send)
            writer.field("scheduleId", schedule?.id)
            writer.field("scheduleName", schedule?.name)
        }
    }
}

/// An activity that a person has tapped, with the facts that find the pushes to it.
struct TappedActivity {
    private let id: String
    private let group: String?
    private let type: String?
    /// Pushes up to this time are erased, in milliseconds since 1970.
    private let erasedUpTo: Int64

    init(id: String, reportedGroup: String?, phone: Installation) {
        let activity = phone.activities.first { $0.id.isExactlyEqual(to: id) }
        self.id = id
        group = activity?.group?.value ?? reportedGroup
        type = activity?.type?.value
        erasedUpTo = phone.erasedUpTo?.received ?? 0
    }

    /// Returns the push with the newest version that APNs accepted, or may have accepted.
    func newestPush(among pushes: [TimelinePush]) -> TimelinePush? {
        pushes.filter { push in
            let mayBeShown = push.outcome == .accepted || push.outcome == .unknown
            return mayBeShown && push.at > erasedUpTo && concerns(push)
        }.max { ($0.version, $0.at) < ($1.version, $1.at) }
    }

    /// Whether the push went to the activity, or may have started it. A start names no activity. It has started an
    /// activity of its group or, if the phone has not reported the group, of its type.
    private func concerns(_ push: TimelinePush) -> Bool {
        guard push.event == .start else {
            return push.addressee.entry.isExactlyEqual(to: RegistryKey.Entry.update(activity: id).text)
        }
        if let group { return push.group.isExactlyEqual(to: group) }
        guard let type else { return false }
        return push.addressee.entry.isExactlyEqual(to: RegistryKey.Entry.start(type: type).text)
    }
}

extension ProgressRecord {
    fileprivate var firedSchedule: FiredSchedule? {
        if case .schedule(let schedule) = part { schedule } else { nil }
    }
}

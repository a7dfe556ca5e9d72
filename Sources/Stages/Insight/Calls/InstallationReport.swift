internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Jobs
internal import Payloads
internal import Sends

/// The answer about one installation: its known state without its tokens, and the reason for what the phone
/// shows.
struct InstallationReport {
    let diagnosis: PhoneDiagnosis

    /// Writes the fields into an open object.
    func write(to writer: inout JSONWriter) {
        let phone = diagnosis.installation
        writer.field("installationId", diagnosis.installationID)
        if case .user(let user)? = phone.user?.value { writer.field("userId", user) }
        writer.field("environment", phone.environment?.value.rawValue)
        writer.field("os", phone.os?.value)
        writer.field("appBuild", phone.appBuild?.value)
        writer.field("locale", phone.locale?.value)
        writer.field("timeZone", phone.timeZone?.value)
        writer.field("tags", phone.tags?.value)
        writer.field("attributes", phone.attributes?.value)
        writer.field("activitiesEnabled", phone.activitiesEnabled?.value)
        writer.field("frequentPushesEnabled", phone.frequentPushesEnabled?.value)
        writer.field("heardAt", phone.lastReportAt)
        writer.objects("startTokens", of: phone.startTokens) { start, writer in
            writer.field("attributesType", start.type)
            writeToken(start.token, to: &writer)
            writer.field("unregisteredAt", start.unregisteredAt?.event)
        }
        writer.objects("activities", of: phone.activities) { activity, writer in
            writer.field("activityId", activity.id)
            writer.field("attributesType", activity.type?.value)
            writer.field("groupId", activity.group?.value)
            writer.field("state", state(of: activity))
            writeToken(activity.token, to: &writer)
            writer.field("heardAt", activity.lastSeenAt?.event)
            writer.field("endedAt", activity.closing?.endedAt?.event)
            writer.field("dismissedAt", activity.closing?.dismissedAt?.event)
            writer.field("version", diagnosis.acceptedVersion(of: activity))
            Self.writeNewest(diagnosis.newestState(for: activity), to: &writer)
            Self.writeReason(diagnosis.reason(for: activity), to: &writer)
        }
        Self.writeReason(diagnosis.reason, to: &writer)
    }

    /// Writes the state that the activity should show now.
    private static func writeNewest(_ newest: ScopeState?, to writer: inout JSONWriter) {
        guard let newest else { return }
        writer.name("newest")
        writer.beginObject()
        writer.field("sendId", newest.send)
        writer.field("event", newest.content.event.rawValue)
        writer.field("version", newest.version)
        writer.field("contentState", newest.content.contentState)
        writer.field("acceptedAt", newest.acceptedAt)
        writer.endObject()
    }

    static func writeReason(_ reason: DisplayReason, to writer: inout JSONWriter) {
        writer.name("why")
        writer.beginObject()
        reason.write(to: &writer)
        writer.endObject()
    }

    private func state(of activity: Installation.Activity) -> String {
        switch diagnosis.installation.endCause(of: activity) {
        case .dismissed: "dismissed"
        case .ended, .unregistered, .notRunning: "ended"
        case nil: diagnosis.isExpired(activity) ? "expired" : activity.state?.value.rawValue ?? "active"
        }
    }

    private func writeToken(_ token: Installation.Token?, to writer: inout JSONWriter) {
        guard let token else { return }
        writer.field("token", token.hash.isEmpty ? nil : PushToken.shortForm(hash: token.hash))
        writer.field("environment", token.environment.rawValue)
        writer.field("at", token.at.event)
        guard diagnosis.installation.isRefused(token) else { return }
        writer.field("refusedAt", diagnosis.installation.refusedTokens.last { $0.hash == token.hash }?.at)
    }
}

extension Installation {
    /// The server's time of the phone's newest report.
    var lastReportAt: Int64? {
        let fieldTimes: [ReportTime?] = [
            environment?.at, user?.at, os?.at, appBuild?.at, activitiesEnabled?.at, tags?.at, attributes?.at,
            locale?.at, timeZone?.at, runningActivities?.at,
        ]
        let tokens = startTokens.flatMap { [$0.token?.at, $0.unregisteredAt] }
        let activities = self.activities.flatMap {
            [$0.lastSeenAt, $0.token?.at, $0.closing?.endedAt, $0.closing?.dismissedAt]
        }
        return (fieldTimes + tokens + activities).compactMap { $0?.received }.max()
    }
}

extension TimelinePush {
    /// Writes the fields of a push in an answer.
    func writeReport(to writer: inout JSONWriter) {
        writer.field("at", at)
        writer.field("acceptedAt", acceptedAt)
        writer.field("sendId", send)
        writer.field("groupId", group)
        writer.field("version", version)
        writer.field("event", event.rawValue)
        writer.field("environment", environment.rawValue)
        writer.field("installationId", addressee.installation)
        writer.field("entry", addressee.entry)
        writer.field("attempt", attempt)
        writer.field("outcome", outcome.rawValue)
        writer.field("status", status)
        writer.field("reason", reason)
        writer.field("dueAt", dueAt)
    }
}

extension Event {
    /// Writes the fields of an event in an answer.
    func writeReport(to writer: inout JSONWriter) {
        writer.field("at", eventTime)
        writer.field("receivedAt", receivedAt)
        writer.field("code", code.rawValue)
        writer.field("installationId", installation)
        writer.field("userId", user)
        writer.field("attributesType", attributesType)
        writer.field("activityId", activity)
        writer.field("groupId", group)
        writer.field("token", tokenHash.map(PushToken.shortForm))
        writer.field("cause", cause?.rawValue)
        writer.field("environment", environment?.rawValue)
        writer.field("sendId", sendID)
        writer.field("scheduleId", scheduleID)
        writer.field("scheduleName", scheduleName)
    }
}

internal import JSON
internal import LiveActivity

/// The known state of one installation without its tokens, with the reason for what the phone shows.
struct InstallationReport {
    let facts: PhoneFacts

    func write(to writer: inout JSONWriter) {
        let phone = facts.installation
        writer.field("installationId", facts.id)
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
        writer.field("heardAt", phone.heardAt)
        writer.objects("startTokens", of: phone.starts) { start, writer in
            writer.field("attributesType", start.type)
            writeToken(start.token, to: &writer)
            writer.field("unregisteredAt", start.unregisteredAt?.event)
        }
        writer.objects("activities", of: phone.activities) { activity, writer in
            writer.field("activityId", activity.id)
            writer.field("attributesType", activity.type?.value)
            writer.field("groupId", activity.group?.value)
            writer.field("state", state(activity))
            writeToken(activity.token, to: &writer)
            writer.field("heardAt", activity.heardAt?.event)
            writer.field("endedAt", activity.closing?.endedAt?.event)
            writer.field("dismissedAt", activity.closing?.dismissedAt?.event)
            writer.field("version", facts.version(of: activity))
            Self.write(facts.why(activity), to: &writer)
        }
        Self.write(facts.why, to: &writer)
    }

    static func write(_ why: Why, to writer: inout JSONWriter) {
        writer.name("why")
        writer.beginObject()
        why.write(to: &writer)
        writer.endObject()
    }

    private func state(_ activity: Installation.Activity) -> String {
        switch facts.installation.overBy(activity) {
        case .dismissed: "dismissed"
        case .ended, .unregistered, .notRunning: "ended"
        case nil: activity.isExpired ? "expired" : activity.state?.value.rawValue ?? "active"
        }
    }

    private func writeToken(_ token: Installation.Token?, to writer: inout JSONWriter) {
        guard let token else { return }
        writer.field("token", token.hash.isEmpty ? nil : PushToken.short(hash: token.hash))
        writer.field("environment", token.environment.rawValue)
        writer.field("at", token.at.event)
        guard facts.installation.isRefused(token) else { return }
        writer.field("refusedAt", facts.installation.refused.last { $0.hash == token.hash }?.at)
    }
}

extension Installation {
    /// The server's time of the phone's newest report.
    var heardAt: Int64? {
        let said: [ReportTime?] = [
            environment?.at, user?.at, os?.at, appBuild?.at, activitiesEnabled?.at,
            tags?.at, attributes?.at,
            locale?.at, timeZone?.at, running?.at,
        ]
        let tokens = starts.flatMap { [$0.token?.at, $0.unregisteredAt] }
        let activities = self.activities.flatMap {
            [$0.heardAt, $0.token?.at, $0.closing?.endedAt, $0.closing?.dismissedAt]
        }
        return (said + tokens + activities).compactMap { $0?.received }.max()
    }
}

extension PushSeen {
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
        writer.field("token", tokenHash.map(PushToken.short))
        writer.field("cause", cause?.rawValue)
        writer.field("environment", environment?.rawValue)
        writer.field("scheduleId", scheduleID)
        writer.field("scheduleName", scheduleName)
    }
}

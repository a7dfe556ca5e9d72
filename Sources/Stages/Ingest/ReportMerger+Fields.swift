internal import Identifiers
internal import InstallationRecords

// The fields that a report of any kind can carry: facts about the device, the user, and the profile.

extension ReportMerger {
    /// Merges the environment, the system, the app's build, and the permissions for Live Activities.
    func mergeDevice(from report: Report, into context: inout MergeContext) {
        let time = context.time
        if let environment = report.environment {
            // Its time is the time of the phone's last report, so a repetition is written too.
            let oldTime = context.installation.environment?.at
            let effect = context.installation.environment.merge(environment, at: time)
            context.noteEffect(
                effect, previousTime: oldTime, writeInterval: WriteInterval.heartbeatMilliseconds)
            if effect == .changed { context.affectedRows.insertAll() }
        }
        if let os = report.os { context.noteEffectOnAllRows(context.installation.os.merge(os, at: time)) }
        if let build = report.appBuild {
            // Its time is in the profile row, so a repetition is written too.
            let oldTime = context.installation.appBuild?.at
            let effect = context.installation.appBuild.merge(build, at: time)
            context.noteEffect(
                effect, previousTime: oldTime, writeInterval: WriteInterval.heartbeatMilliseconds)
            if effect == .changed { context.affectedRows.insertProfile() }
        }
        if let isEnabled = report.frequentPushesEnabled {
            context.noteEffectOnAllRows(context.installation.frequentPushesEnabled.merge(isEnabled, at: time))
        }
        if let isEnabled = report.activitiesEnabled {
            context.noteEffectOnAllRows(context.installation.activitiesEnabled.merge(isEnabled, at: time))
        }
    }

    /// Merges the user of the phone, and the values that segments can test.
    func mergeProfile(from report: Report, into context: inout MergeContext) {
        let oldReportTime = report.hasProfileFields ? context.installation.profileReportedAt : nil
        let hasMoved = mergeUser(from: report, into: &context)
        let hasProfileChanged = mergeProfileFields(from: report, into: &context)
        // A login needs its exact time. With an older time, a report of the previous user that arrives late would win
        // over a repeated login.
        if report.kind == .profile { context.markDue() }
        if let oldReportTime, let newReportTime = context.installation.profileReportedAt,
            newReportTime > oldReportTime
        {
            context.noteEffect(
                .repeated, previousTime: oldReportTime, writeInterval: WriteInterval.heartbeatMilliseconds)
        }
        if hasMoved || hasProfileChanged {
            context.affectedRows.insertProfile()
            context.appendEvent(.profile)
        }
    }

    /// Merges a login or a logout. Returns whether the installation moved to another recipient.
    private func mergeUser(from report: Report, into context: inout MergeContext) -> Bool {
        guard report.installation != nil, report.user != nil || report.isLoggedOut else { return false }
        let recipient = report.user.map(Recipient.user) ?? context.installation.subject
        let hasMoved = context.noteEffect(context.installation.user.merge(recipient, at: context.time))
        if hasMoved { context.hasMoved = true }
        return hasMoved
    }

    /// Merges the values that segments can test. Returns whether one changed.
    private func mergeProfileFields(from report: Report, into context: inout MergeContext) -> Bool {
        let time = context.time
        var hasChanged = false
        if let tags = report.tags {
            if context.noteEffect(context.installation.tags.merge(tags, at: time)) { hasChanged = true }
        }
        if let attributes = report.attributes {
            if context.noteEffect(context.installation.attributes.merge(attributes, at: time)) {
                hasChanged = true
            }
        }
        if let locale = report.locale {
            if context.noteEffect(context.installation.locale.merge(locale, at: time)) { hasChanged = true }
        }
        if let timeZone = report.timeZone {
            if context.noteEffect(context.installation.timeZone.merge(timeZone, at: time)) {
                hasChanged = true
            }
        }
        return hasChanged
    }
}

extension Report {
    /// Whether the report has a field that counts for `profileReportedAt`.
    fileprivate var hasProfileFields: Bool {
        tags != nil || attributes != nil || locale != nil || timeZone != nil
    }
}

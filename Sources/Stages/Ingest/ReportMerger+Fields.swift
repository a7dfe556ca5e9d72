internal import Identifiers
internal import InstallationRecords

extension ReportMerger {
    /// Merges the values of the phone and of its app.
    func mergeDevice(from report: Report, into context: inout MergeContext) {
        let time = context.time
        if let environment = report.environment {
            let oldTime = context.installation.environment?.at
            let effect = context.installation.environment.merge(environment, at: time)
            context.record(effect, since: oldTime, interval: WriteInterval.heartbeatMilliseconds)
            if effect == .changed { context.affectedRows.insertAll() }
        }
        if let os = report.os { context.recordForAllRows(context.installation.os.merge(os, at: time)) }
        if let build = report.appBuild {
            let oldTime = context.installation.appBuild?.at
            let effect = context.installation.appBuild.merge(build, at: time)
            context.record(effect, since: oldTime, interval: WriteInterval.heartbeatMilliseconds)
            if effect == .changed { context.affectedRows.insertProfile() }
        }
        if let isEnabled = report.frequentPushesEnabled {
            context.recordForAllRows(context.installation.frequentPushesEnabled.merge(isEnabled, at: time))
        }
        if let isEnabled = report.activitiesEnabled {
            context.recordForAllRows(context.installation.activitiesEnabled.merge(isEnabled, at: time))
        }
    }

    /// Merges the user of the phone, and the values that segments can test.
    func mergeProfile(from report: Report, into context: inout MergeContext) {
        let time = context.time
        var hasChanged = false
        let oldReportTime = report.hasProfileFields ? context.installation.profileReportedAt : nil
        if report.installation != nil, report.user != nil || report.isLoggedOut {
            let recipient = report.user.map(Recipient.user) ?? context.installation.subject
            if context.record(context.installation.user.merge(recipient, at: time)) {
                context.hasMoved = true
                hasChanged = true
            }
        }
        if let tags = report.tags {
            if context.record(context.installation.tags.merge(tags, at: time)) { hasChanged = true }
        }
        if let attributes = report.attributes {
            if context.record(context.installation.attributes.merge(attributes, at: time)) {
                hasChanged = true
            }
        }
        if let locale = report.locale {
            if context.record(context.installation.locale.merge(locale, at: time)) { hasChanged = true }
        }
        if let timeZone = report.timeZone {
            if context.record(context.installation.timeZone.merge(timeZone, at: time)) { hasChanged = true }
        }
        // A login needs its exact time. With an older time, a report of the previous user that arrives late would win
        // over a repeated login.
        if report.kind == .profile, context.isRepeated { context.requireWrite() }
        if let oldReportTime, let newReportTime = context.installation.profileReportedAt,
            newReportTime > oldReportTime
        {
            context.record(
                .repeated, since: oldReportTime, interval: WriteInterval.heartbeatMilliseconds)
        }
        if hasChanged {
            context.affectedRows.insertProfile()
            context.appendEvent(.profile)
        }
    }

    /// Adds a tap on an activity, once.
    func mergeTap(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let id = report.activity else { throw RejectedReport.missing(field: "activityId") }
        let tap = Installation.Tap(at: context.time.event, id: report.id)
        // An older tap may be one that was pruned.
        if let prunedUpTo = context.installation.tapsPrunedUpTo, tap.at <= prunedUpTo { return }
        if context.installation.taps.contains(where: { $0.isSame(as: tap) }) { return }
        context.installation.taps.append(tap)
        context.markChanged()
        let activity = context.installation.activities.first { $0.id.isExactlyEqual(to: id) }
        context.appendEvent(
            .tap, attributesType: activity?.type?.value ?? report.attributesType, activity: id,
            group: activity?.group?.value ?? report.group, scheduleID: report.scheduleID,
            scheduleName: report.scheduleName)
    }

    /// Notes that APNs has refused a token, so that no row offers it again.
    func mergeTokenRefusal(from report: Report, into context: inout MergeContext)
        throws(RejectedReport)
    {
        guard let refusal = report.refusal else { throw RejectedReport.missing(field: "tokenHash") }
        // If APNs gave no time, the time of the dispatch counts, because a token that was reported after the dispatch
        // was not refused.
        let claimedTime =
            refusal.invalidatedAt.map { $0 + Retention.refusalGraceMilliseconds }
            ?? refusal.dispatchedAt
        // A refusal never lies in the future. Otherwise a wrong clock or unit would disable the token for ever.
        let refusedAt = min(claimedTime, context.time.received + Retention.refusalGraceMilliseconds)
        if let erasedAt = context.installation.erasedUpTo, refusedAt < erasedAt.event { return }
        if let known = context.installation.refusedTokens.firstIndex(where: {
            $0.hash == refusal.tokenHash
        }) {
            guard context.installation.refusedTokens[known].at < refusedAt else { return }
            context.installation.refusedTokens[known].at = refusedAt
        } else {
            context.installation.refusedTokens.append(.init(hash: refusal.tokenHash, at: refusedAt))
        }
        context.affectedRows.insertAll()
        context.markChanged()
    }

    /// Notes that APNs has accepted a token. A proof of a token that is no longer known changes nothing, so it never
    /// creates an installation.
    func mergeTokenProof(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let proof = report.proof else { throw RejectedReport.missing(field: "tokenHash") }
        func isNewlyProven(_ token: Installation.Token?) -> Bool {
            token?.isUnproven == true && token?.hash == proof.tokenHash
                && token?.environment == report.environment
        }
        switch proof.entry {
        case .start(let type):
            for index in context.installation.startTokens.indices
            where context.installation.startTokens[index].type.isExactlyEqual(to: type)
                && isNewlyProven(context.installation.startTokens[index].token)
            {
                context.installation.startTokens[index].token?.isUnproven = false
                context.affectedRows.insertStartToken(at: index)
                context.markChanged()
            }
        case .update(let id):
            for index in context.installation.activities.indices
            where context.installation.activities[index].id.isExactlyEqual(to: id)
                && isNewlyProven(context.installation.activities[index].token)
            {
                context.installation.activities[index].token?.isUnproven = false
                context.affectedRows.insertActivity(at: index)
                context.markChanged()
            }
        case .profile: break
        }
    }
}

extension Report {
    /// Whether the report has a field that counts for `profileReportedAt`.
    fileprivate var hasProfileFields: Bool {
        tags != nil || attributes != nil || locale != nil || timeZone != nil
    }
}

internal import Identifiers
internal import InstallationRecords

extension ReportMerger {
    /// Merges all fields of a report. A missing field leaves the known value unchanged.
    func mergeFields(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        if report.kind == .deadToken { return try mergeTokenRefusal(from: report, into: &context) }
        if let erasedAt = context.installation.erasedUpTo, context.time <= erasedAt {
            return mergeEndBeforeErasure(from: report, into: &context)
        }
        if report.kind == .erase {
            context.installation.erase(upTo: context.time)
            context.affectedRows.insertAll()
            return context.markChanged()
        }
        mergeDevice(from: report, into: &context)
        mergeProfile(from: report, into: &context)
        switch report.kind {
        case .startToken: try mergeStartToken(from: report, into: &context)
        case .updateToken: try mergeUpdateToken(from: report, into: &context)
        case .state: try mergeActivityState(from: report, into: &context)
        case .unregister: try mergeUnregistration(from: report, into: &context)
        case .reconcile: try mergeRunningActivities(from: report, into: &context)
        case .heartbeat: if report.activity != nil { try mergeSignOfLife(from: report, into: &context) }
        case .tap: try mergeTap(from: report, into: &context)
        case .profile, .erase, .deadToken: break
        }
    }

    private func mergeDevice(from report: Report, into context: inout MergeContext) {
        let time = context.time
        if let environment = report.environment {
            let old = context.installation.environment?.at
            let effect = context.installation.environment.merge(environment, at: time)
            context.record(effect, since: old, interval: WriteInterval.heartbeatMilliseconds)
            if effect == .changed { context.affectedRows.insertAll() }
        }
        if let os = report.os { context.recordForAllRows(context.installation.os.merge(os, at: time)) }
        if let build = report.appBuild {
            let old = context.installation.appBuild?.at
            let effect = context.installation.appBuild.merge(build, at: time)
            context.record(effect, since: old, interval: WriteInterval.heartbeatMilliseconds)
            if effect == .changed { context.affectedRows.insertProfile() }
        }
        if let isEnabled = report.frequentPushesEnabled {
            context.recordForAllRows(context.installation.frequentPushesEnabled.merge(isEnabled, at: time))
        }
        if let isEnabled = report.activitiesEnabled {
            context.recordForAllRows(context.installation.activitiesEnabled.merge(isEnabled, at: time))
        }
    }

    private func mergeProfile(from report: Report, into context: inout MergeContext) {
        let time = context.time
        var hasChanged = false
        let old = report.hasProfileFields ? context.installation.profileReportedAt : nil
        if report.installation != nil, report.user != nil || report.isLoggedOut {
            let recipient = report.user.map(Recipient.user) ?? context.installation.subject
            context.hasMoved = context.record(context.installation.user.merge(recipient, at: time))
            hasChanged = context.hasMoved
        }
        if let tags = report.tags {
            hasChanged = context.record(context.installation.tags.merge(tags, at: time)) || hasChanged
        }
        if let attributes = report.attributes {
            hasChanged =
                context.record(context.installation.attributes.merge(attributes, at: time)) || hasChanged
        }
        if let locale = report.locale {
            hasChanged = context.record(context.installation.locale.merge(locale, at: time)) || hasChanged
        }
        if let timeZone = report.timeZone {
            hasChanged = context.record(context.installation.timeZone.merge(timeZone, at: time)) || hasChanged
        }
        // A login needs its exact time. With an older time, a late report about the previous user would win.
        if report.kind == .profile, context.isRepeated { context.requireWrite() }
        if let old, let new = context.installation.profileReportedAt, new > old {
            context.record(.repeated, since: old, interval: WriteInterval.heartbeatMilliseconds)
        }
        if hasChanged {
            context.affectedRows.insertProfile()
            context.appendEvent(.profile)
        }
    }

    private func mergeTap(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let id = report.activity else { throw RejectedReport.missing(field: "activityId") }
        let tap = Installation.Tap(at: context.time.event, id: report.id)
        if let end = context.installation.tapsPrunedUpTo, tap.at <= end { return }
        if context.installation.taps.contains(where: { $0.isSame(as: tap) }) { return }
        context.installation.taps.append(tap)
        context.markChanged()
        let activity = context.installation.activities.first { $0.id.isExactlyEqual(to: id) }
        context.appendEvent(
            .tap, attributesType: activity?.type?.value ?? report.attributesType, activity: id,
            group: activity?.group?.value ?? report.group, scheduleID: report.scheduleID,
            scheduleName: report.scheduleName)
    }

    private func mergeTokenRefusal(from report: Report, into context: inout MergeContext)
        throws(RejectedReport)
    {
        guard let refusal = report.refusal else { throw RejectedReport.missing(field: "tokenHash") }
        // If APNs gave no time, the dispatch time counts: a token that was reported after the dispatch was
        // not refused.
        let said =
            refusal.invalidatedAt.map { $0 + Retention.refusalGraceMilliseconds }
            ?? refusal.dispatchedAt
        // A refusal never lies in the future. Otherwise a wrong clock or unit would disable the token
        // forever.
        let at = min(said, context.time.received + Retention.refusalGraceMilliseconds)
        if let erasedAt = context.installation.erasedUpTo, at < erasedAt.event { return }
        if let known = context.installation.refusedTokens.firstIndex(where: {
            $0.hash == refusal.tokenHash
        }) {
            guard context.installation.refusedTokens[known].at < at else { return }
            context.installation.refusedTokens[known].at = at
        } else {
            context.installation.refusedTokens.append(.init(hash: refusal.tokenHash, at: at))
        }
        context.affectedRows.insertAll()
        context.markChanged()
    }
}

extension Report {
    /// Whether the report has a field that counts for `profileReportedAt`.
    fileprivate var hasProfileFields: Bool {
        tags != nil || attributes != nil || locale != nil || timeZone != nil
    }
}

extension RejectedReport {
    static func missing(field: String) -> RejectedReport {
        RejectedReport(code: .incomplete, description: "\(field) is missing; this kind of report requires it")
    }
}

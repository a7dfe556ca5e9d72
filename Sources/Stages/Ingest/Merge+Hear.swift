internal import LiveActivity

extension Merge {
    /// Merges all fields of a report. A missing field leaves the known value unchanged.
    func hear(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) {
        if report.kind == .deadToken { return try hearRefusal(report, &hearing) }
        if let erasedAt = hearing.installation.erasedAt, hearing.time <= erasedAt {
            return hearErased(report, &hearing)
        }
        if report.kind == .erase {
            hearing.installation.erase(upTo: hearing.time)
            hearing.touched.touchEverything()
            return hearing.noteChange()
        }
        hearPhone(report, &hearing)
        hearProfile(report, &hearing)
        switch report.kind {
        case .startToken: try hearStartToken(report, &hearing)
        case .updateToken: try hearUpdateToken(report, &hearing)
        case .state: try hearState(report, &hearing)
        case .unregister: try hearUnregister(report, &hearing)
        case .reconcile: try hearRunning(report, &hearing)
        case .heartbeat: if report.activity != nil { try hearAlive(report, &hearing) }
        case .tap: try hearTap(report, &hearing)
        case .profile, .erase, .deadToken: break
        }
    }

    private func hearPhone(_ report: Report, _ hearing: inout Hearing) {
        let time = hearing.time
        if let environment = report.environment {
            let old = hearing.installation.environment?.at
            let heard = hearing.installation.environment.hear(environment, at: time)
            hearing.note(heard, since: old, grain: Grain.heartbeatMilliseconds)
            if heard == .changed { hearing.touched.touchEverything() }
        }
        if let os = report.os { hearing.noteFact(hearing.installation.os.hear(os, at: time)) }
        if let build = report.appBuild {
            let old = hearing.installation.appBuild?.at
            let heard = hearing.installation.appBuild.hear(build, at: time)
            hearing.note(heard, since: old, grain: Grain.heartbeatMilliseconds)
            if heard == .changed { hearing.touched.touchProfile() }
        }
        if let isEnabled = report.frequentPushesEnabled {
            hearing.noteFact(hearing.installation.frequentPushesEnabled.hear(isEnabled, at: time))
        }
        if let isEnabled = report.activitiesEnabled {
            hearing.noteFact(hearing.installation.activitiesEnabled.hear(isEnabled, at: time))
        }
    }

    private func hearProfile(_ report: Report, _ hearing: inout Hearing) {
        let time = hearing.time
        var isNews = false
        let old = report.saysProfile ? hearing.installation.profileHeardAt : nil
        if report.installation != nil, report.user != nil || report.isLoggedOut {
            let recipient = report.user.map(Recipient.user) ?? hearing.installation.subject
            hearing.hasMoved = hearing.note(hearing.installation.user.hear(recipient, at: time))
            isNews = hearing.hasMoved
        }
        if let tags = report.tags {
            isNews = hearing.note(hearing.installation.tags.hear(tags, at: time)) || isNews
        }
        if let attributes = report.attributes {
            isNews =
                hearing.note(hearing.installation.attributes.hear(attributes, at: time)) || isNews
        }
        if let locale = report.locale {
            isNews = hearing.note(hearing.installation.locale.hear(locale, at: time)) || isNews
        }
        if let timeZone = report.timeZone {
            isNews = hearing.note(hearing.installation.timeZone.hear(timeZone, at: time)) || isNews
        }
        // A login needs its exact time. With an older time, a late report about the previous user would win.
        if report.kind == .profile, hearing.isRepeated { hearing.noteGrain() }
        if let old, let new = hearing.installation.profileHeardAt, new > old {
            hearing.note(.repeated, since: old, grain: Grain.heartbeatMilliseconds)
        }
        if isNews {
            hearing.touched.touchProfile()
            hearing.tell(.profile)
        }
    }

    private func hearTap(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) {
        guard let id = report.activity else { throw ReportMisfit.incomplete("activityId") }
        let tap = Installation.Tap(at: hearing.time.event, id: report.id)
        if let end = hearing.installation.tappedAt, tap.at <= end { return }
        if hearing.installation.taps.contains(where: { $0.isSame(as: tap) }) { return }
        hearing.installation.taps.append(tap)
        hearing.noteChange()
        let activity = hearing.installation.activities.first { $0.id.isExactly(id) }
        hearing.tell(
            .tap, attributesType: activity?.type?.value ?? report.attributesType, activity: id,
            group: activity?.group?.value ?? report.group, scheduleID: report.scheduleID,
            scheduleName: report.scheduleName)
    }

    private func hearRefusal(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) {
        guard let refusal = report.refusal else { throw ReportMisfit.incomplete("tokenHash") }
        // If APNs gave no time, the dispatch time counts: a token that was reported after the dispatch was
        // not refused.
        let said =
            refusal.invalidatedAt.map { $0 + Retention.refusalGraceMilliseconds }
            ?? refusal.dispatchedAt
        // A refusal never lies in the future. Otherwise a wrong clock or unit would disable the token
        // forever.
        let at = min(said, hearing.time.received + Retention.refusalGraceMilliseconds)
        if let erasedAt = hearing.installation.erasedAt, at < erasedAt.event { return }
        if let known = hearing.installation.refused.firstIndex(where: {
            $0.hash == refusal.tokenHash
        }) {
            guard hearing.installation.refused[known].at < at else { return }
            hearing.installation.refused[known].at = at
        } else {
            hearing.installation.refused.append(.init(hash: refusal.tokenHash, at: at))
        }
        hearing.touched.touchEverything()
        hearing.noteChange()
    }
}

extension Report {
    /// Whether the report has a field that counts for `profileHeardAt`.
    fileprivate var saysProfile: Bool {
        tags != nil || attributes != nil || locale != nil || timeZone != nil
    }
}

extension ReportMisfit {
    static func incomplete(_ field: String) -> ReportMisfit {
        ReportMisfit(.incomplete, "\(field) is missing; this kind of report requires it")
    }
}

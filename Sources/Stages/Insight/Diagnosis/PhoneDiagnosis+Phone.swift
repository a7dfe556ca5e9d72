internal import Identifiers
internal import InstallationRecords
internal import Jobs
internal import Payloads

extension PhoneDiagnosis {
    // MARK: The whole phone

    /// A problem that concerns every activity of the phone, or nil.
    var wholePhoneReason: DisplayReason? {
        if installation.startTokens.isEmpty, installation.activities.isEmpty {
            return oldSystemReason
                ?? DisplayReason(
                    .nothingReported,
                    "no push can reach it: no token has been reported; the SDK must send startToken and updateToken"
                )
        }
        if installation.activitiesEnabled?.value == false { return switchedOffReason }
        return nil
    }

    private var oldSystemReason: DisplayReason? {
        guard let os = installation.os?.value, let version = OSVersion(os), version < OSVersion.pushToStart
        else { return nil }
        return DisplayReason(
            .systemTooOld,
            "no push can start an activity on it: iOS \(os) is too old; push to start needs iOS 17.2")
    }

    // MARK: The activities of the phone

    /// The reason of one activity, or nil if the start tokens give the better reason. A running activity with
    /// a problem comes first, then the newest running one, then the newest ended one.
    var activityReason: DisplayReason? {
        let running = installation.activities.filter { installation.isRunning($0) && !isExpired($0) }
        let newestFirst = running.map { reason(for: $0) }.sorted { ($0.at ?? 0) > ($1.at ?? 0) }
        let firstProblem = newestFirst.first { !$0.code.needsNoAction }
        if let reason = firstProblem ?? newestFirst.first { return reason }
        let newestEnded = installation.activities.map { reason(for: $0) }
            .max { ($0.at ?? 0) < ($1.at ?? 0) }
        guard let newestEnded else { return nil }
        // A later start is more relevant than an ended activity.
        if let lastStart, lastStart.at > newestEnded.at ?? 0 { return nil }
        return newestEnded
    }

    // MARK: The start tokens of the phone

    /// The reason that no activity runs, in this order: a start token that cannot be used, an unregistered
    /// type, an old system, no start yet, or the outcome of the last start.
    var startReason: DisplayReason {
        if let reason = unusableStartTokenReason ?? unregisteredReason ?? oldSystemReason { return reason }
        guard let lastStart else {
            return DisplayReason(
                .nothingSent, "pushes can reach it, and nothing was sent to it within seven days")
        }
        let groupPhrase = lastStart.group.map { " of group \($0)" } ?? ""
        if lastStart.outcome == .accepted {
            return DisplayReason(
                .started,
                "APNs accepted a start\(groupPhrase) at \(Self.time(lastStart.at)); the phone has not reported the activity",
                at: lastStart.at)
        }
        return DisplayReason(
            lastStart.reasonCode(at: now), "the start\(groupPhrase) \(lastStart.outcomeText(at: now))",
            at: lastStart.at)
    }

    private var lastStart: TimelinePush? { pushes.filter { $0.event == .start }.max { $0.at < $1.at } }

    private var unusableStartTokenReason: DisplayReason? {
        for start in installation.startTokens where !start.isUnregistered && !installation.isUsable(start) {
            guard let token = start.token else { continue }
            if token.isTakenOver {
                return DisplayReason(
                    .noToken,
                    "no push can start an activity on it: another installation has reported the same start token later, and gets its pushes",
                    at: token.at.received)
            }
            let entry = RegistryKey.Entry.start(type: start.type)
            if let reason = unreachableReason(token: token, of: entry, tokenName: "start token") {
                return reason
            }
        }
        return nil
    }

    private var unregisteredReason: DisplayReason? {
        let isAnyUnregistered = installation.startTokens.contains(where: \.isUnregistered)
        let isAnyUsable = installation.startTokens.contains { installation.isUsable($0) }
        guard isAnyUnregistered, !isAnyUsable else { return nil }
        return DisplayReason(
            .unregistered,
            "no push can start an activity on it: the app unregistered the type on this phone; it must report a start token again"
        )
    }
}

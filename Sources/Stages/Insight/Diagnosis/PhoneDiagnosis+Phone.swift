internal import Identifiers
internal import InstallationRecords
internal import Jobs
internal import Payloads

extension PhoneDiagnosis {
    /// The reason for what the phone shows. A problem of the whole phone comes first, then its activities,
    /// then its start tokens.
    var reason: DisplayReason {
        var why = wholePhoneReason ?? activityReason ?? startReason
        why.installation = id
        return why
    }

    private var wholePhoneReason: DisplayReason? {
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

    /// The reason of one activity. A running one with a problem comes first, then the newest running one,
    /// then the newest ended one.
    private var activityReason: DisplayReason? {
        let running = installation.activities.filter { installation.isRunning($0) }.map(reason)
            .sorted { ($0.at ?? 0) > ($1.at ?? 0) }
        if let worst = running.first(where: { !$0.code.needsNoAction }) ?? running.first { return worst }
        let over = installation.activities.map(reason).max { ($0.at ?? 0) < ($1.at ?? 0) }
        guard let over else { return nil }
        // A later start is more relevant than an ended activity.
        if let start = lastStart, start.at > over.at ?? 0 { return nil }
        return over
    }

    private var oldSystemReason: DisplayReason? {
        guard let os = installation.os?.value, let version = OSVersion(os), version < OSVersion.pushToStart
        else { return nil }
        return DisplayReason(
            .system,
            "no push can start an activity on it: iOS \(os) is too old; push to start needs iOS 17.2")
    }

    private var lastStart: TimelinePush? { pushes.filter { $0.event == .start }.max { $0.at < $1.at } }

    private var startReason: DisplayReason {
        for start in installation.startTokens {
            guard let token = start.token, installation.isUsable(start) == false else { continue }
            if start.isUnregistered { continue }
            if let why = unreachableReason(token: token, of: .start(type: start.type), word: "start token") {
                return why
            }
        }
        if installation.startTokens.contains(where: \.isUnregistered),
            !installation.startTokens.contains(where: { installation.isUsable($0) })
        {
            return DisplayReason(
                .unregistered,
                "no push can start an activity on it: the app unregistered the type on this phone; it must report a start token again"
            )
        }
        if let why = oldSystemReason { return why }
        guard let start = lastStart else {
            return DisplayReason(
                .nothingSent, "pushes can reach it, and nothing was sent to it within seven days")
        }
        if start.outcome == .accepted {
            return DisplayReason(
                .started,
                "APNs accepted a start\(start.group.map { " of group \($0)" } ?? "") at \(Self.time(start.at)); the phone has not reported the activity",
                at: start.at)
        }
        return DisplayReason(
            start.reasonCode,
            "the start\(start.group.map { " of group \($0)" } ?? "") \(start.outcomeText)", at: start.at)
    }
}

internal import LiveActivity

extension PhoneFacts {
    /// The reason for what the phone shows. A problem of the whole phone comes first, then its activities,
    /// then its start tokens.
    var why: Why {
        var why = wholePhone ?? activities ?? starts
        why.installation = id
        return why
    }

    private var wholePhone: Why? {
        if installation.starts.isEmpty, installation.activities.isEmpty {
            return systemTooOld
                ?? Why(
                    .nothingReported,
                    "no push can reach it: no token has been reported; the SDK must send startToken and updateToken"
                )
        }
        if installation.activitiesEnabled?.value == false { return switchedOff }
        return nil
    }

    /// The reason of one activity. A running one with a problem comes first, then the newest running one,
    /// then the newest ended one.
    private var activities: Why? {
        let running = installation.activities.filter { installation.isRunning($0) }.map(why)
            .sorted { ($0.at ?? 0) > ($1.at ?? 0) }
        if let worst = running.first(where: { !$0.code.isWell }) ?? running.first { return worst }
        let over = installation.activities.map(why).max { ($0.at ?? 0) < ($1.at ?? 0) }
        guard let over else { return nil }
        // A later start is more relevant than an ended activity.
        if let start = lastStart, start.at > over.at ?? 0 { return nil }
        return over
    }

    private var systemTooOld: Why? {
        guard let os = installation.os?.value, let version = OSVersion(os), version < OSVersion.pushToStart
        else { return nil }
        return Why(
            .system,
            "no push can start an activity on it: iOS \(os) is too old; push to start needs iOS 17.2")
    }

    private var lastStart: PushSeen? { pushes.filter { $0.event == .start }.max { $0.at < $1.at } }

    private var starts: Why {
        for start in installation.starts {
            guard let token = start.token, installation.isUsable(start) == false else { continue }
            if start.isUnwanted { continue }
            if let why = unreachable(token, of: .start(type: start.type), word: "start token") { return why }
        }
        if installation.starts.contains(where: \.isUnwanted),
            !installation.starts.contains(where: { installation.isUsable($0) })
        {
            return Why(
                .unregistered,
                "no push can start an activity on it: the app unregistered the type on this phone; it must report a start token again"
            )
        }
        if let why = systemTooOld { return why }
        guard let start = lastStart else {
            return Why(.nothingSent, "pushes can reach it, and nothing was sent to it within seven days")
        }
        if start.outcome == .accepted {
            return Why(
                .started,
                "APNs accepted a start\(start.group.map { " of group \($0)" } ?? "") at \(Self.time(start.at)); the phone has not reported the activity",
                at: start.at)
        }
        return Why(
            start.code,
            "the start\(start.group.map { " of group \($0)" } ?? "") \(start.ending)", at: start.at)
    }
}
